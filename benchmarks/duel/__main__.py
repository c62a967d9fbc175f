"""Makes `python -m benchmarks.duel` work."""

import sys

from benchmarks.duel.command import main

if __name__ == "__main__":
    sys.exit(main())
