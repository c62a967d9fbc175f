"""The seed of a test run. Each run has another seed, which all of its workers share and its header prints."""

import os
import secrets
from typing import Final

# Workers inherit the environment of the process that starts them.
SEED: Final = int(os.environ.setdefault("TESTS_SEED", str(secrets.randbelow(1_000_000))))
"""`TESTS_SEED=<number> make test-all` repeats a run."""
