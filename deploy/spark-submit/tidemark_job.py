"""What spark-submit runs: it wants a file, and this one is the `tidemark` command."""

import sys

from pipeline.cli import main

if __name__ == "__main__":
    sys.exit(main())
