"""`python -m tidemark.producers` is the `producers` command."""

import sys

from tidemark.producers.cli import main

sys.exit(main())
