"""`python -m producers` is the `producers` command."""

import sys

from producers.cli import main

sys.exit(main())
