"""`python -m dev.uv ...`: runs the uv of `make setup`, with the certificates that this machine trusts."""

import subprocess
import sys

from dev.environment import find_uv, uv_environment


def main() -> int:
    """Returns the exit code of uv."""
    return subprocess.run([find_uv() or "uv", *sys.argv[1:]], env=uv_environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
