"""The account of this process: a container may run under a user id that has no entry in passwd."""

import os
import pwd
from pathlib import Path


def has_account() -> bool:
    """Returns whether the user id of this process has an entry in passwd."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True


def home() -> Path | None:
    """Returns the home directory; None if neither HOME nor passwd has one."""
    try:
        return Path.home()
    except RuntimeError:
        return None
