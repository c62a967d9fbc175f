"""The folder for temporary files of this process, which no other user can read.

Its owner holds a lock on it, which the system releases however the process ends, so that a later process can recognise
abandoned folders.
"""

import atexit
import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

_PREFIX: Final = "tidemark-scratch-"


@cache
def own_folder() -> Path:
    """Creates the folder, once, and sets it as the folder for Python's temporary files. Removes abandoned folders."""
    folder = own_folder_in(Path(tempfile.gettempdir()))
    tempfile.tempdir = str(folder)
    return folder


@cache
def own_folder_in(base: Path) -> Path:
    """Creates a folder in `base`, once. Removes abandoned folders."""
    remove_abandoned(base)
    folder = _locked(base)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def remove_abandoned(base: Path | None = None) -> None:
    """Removes the folders in `base` (default: the folder for temporary files) whose owner process has ended."""
    for folder in (base or Path(tempfile.gettempdir())).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # of another user, in use, or gone meanwhile
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)  # a Java that outlived its owner removes files, too
            finally:
                os.close(descriptor)


def _locked(base: Path) -> Path:
    """Creates a folder and locks it until the process ends."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        with suppress(FileNotFoundError):  # another process found it before it was locked
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            folder.stat()
            return folder
