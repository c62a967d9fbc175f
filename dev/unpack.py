"""Unpacks tar archives safely with every supported Python: filters came to CPython with 3.11.4."""

import os
import stat
import tarfile
from pathlib import Path
from typing import Final

_RIGHTS_TAKEN: Final = stat.S_IWGRP | stat.S_IWOTH | stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Extracts files, folders and links into `folder`, without owners. Raises TarError for one that leads out of it."""
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, filter="data")
        return
    root = folder.resolve()
    for member in archive.getmembers():
        _check(member, root)
        member.mode &= ~_RIGHTS_TAKEN
        member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
        archive.extract(member, root)


def _check(member: tarfile.TarInfo, root: Path) -> None:
    path = (root / member.name).resolve()
    if not (member.isfile() or member.isdir() or member.issym()):
        raise tarfile.ExtractError(f"{member.name!r} is not a file, a folder or a link: remove it from the archive")
    target = (root / member.name).parent / member.linkname if member.issym() else path
    if not (path.is_relative_to(root) and target.resolve().is_relative_to(root)):
        raise tarfile.ExtractError(f"{member.name!r} leads out of the folder: remove it from the archive")
