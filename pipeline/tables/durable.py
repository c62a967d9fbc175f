"""Makes commits to a local file system survive a power cut: their files and folders are synced.

Neither delta-rs nor its object store calls fsync, so a file that was linked into place may be empty after a power cut.
Object stores respond when the data is safe, and need no sync.
"""

import json
import os
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlparse

import structlog

_LOG: Final = "_delta_log"
_MAGIC: Final = b"PAR1"
"""The last bytes of a complete Parquet file."""
_log = structlog.get_logger()


def sync(uri: str, versions: Iterable[int]) -> None:
    """Syncs versions of a local table: the data files that they add, then the log entries. Raises OSError."""
    folder = local(uri)
    if folder is None:
        return
    for version in versions:
        entry = folder / _LOG / f"{version:020}.json"
        if entry.exists():  # maintenance of another process may have removed it since
            files = [folder / unquote(add["path"]) for add in _adds(entry)]
            folders = dict.fromkeys(parent for file in files for parent in _parents(file, folder))
            _sync_all([*files, *folders, *_checkpoint(entry), entry, entry.parent])


def mend(uri: str) -> None:
    """Rolls back the last versions of a local table that a power cut left incomplete.

    They were never synced, so no process relies on them: each writer syncs its commit before it continues.
    """
    folder = local(uri)
    if folder is None or not (folder / _LOG).is_dir():
        return
    for entry in takewhile(lambda entry: not _is_complete(entry, folder), _newest_first(folder)):
        _log.warning("incomplete_commit_rolled_back", table=uri, entry=entry.name)
        for file in _checkpoint(entry):
            file.unlink()
        entry.rename(entry.with_suffix(".torn"))


def intact_version(uri: str) -> int | None:
    """Returns the version of a local table to which `mend` would roll it back; None if it would change nothing."""
    folder = local(uri)
    if folder is None:
        return None
    entries = _newest_first(folder)
    intact = next((entry for entry in entries if _is_complete(entry, folder)), None)
    return int(intact.stem) if intact and intact != entries[0] else None


def local(uri: str) -> Path | None:
    """Returns the folder of a table on a local file system, None for any other store."""
    parsed = urlparse(uri)
    if parsed.scheme == "file":
        return Path(unquote(parsed.path))
    return None if "://" in uri else Path(uri)


def log_of(warehouse: str, table: str) -> Path | None:
    """Returns the folder of the log of a table, which may not exist; None if the warehouse is not local."""
    folder = local(warehouse)
    return None if folder is None else folder / table / _LOG


def _newest_first(folder: Path) -> list[Path]:
    """Returns the entries of a table's log, the newest first."""
    return sorted((folder / _LOG).glob("[0-9]*.json"), reverse=True)


def _checkpoint(entry: Path) -> list[Path]:
    """Returns the files of the checkpoint at a version, if there is one."""
    checkpoint = entry.with_suffix(".checkpoint.parquet")
    return [checkpoint, entry.parent / "_last_checkpoint"] if checkpoint.exists() else []


def _adds(entry: Path) -> list[dict[str, Any]]:
    actions = [json.loads(line) for line in entry.read_text().splitlines()]
    return [action["add"] for action in actions if "add" in action]


def _parents(file: Path, folder: Path) -> Iterable[Path]:
    """Returns the folders of a file, up to the parent of the table's folder."""
    return [parent for parent in file.parents if parent == folder.parent or folder in (parent, *parent.parents)]


def _is_complete(entry: Path, folder: Path) -> bool:
    try:
        adds = _adds(entry)
    except ValueError:
        return False
    return entry.stat().st_size > 0 and all(_has(folder / unquote(add["path"]), add["size"]) for add in adds)


def _has(file: Path, size: int) -> bool:
    if not file.exists() or file.stat().st_size != size:
        return False
    with file.open("rb") as data:
        data.seek(-len(_MAGIC), os.SEEK_END)
        return data.read() == _MAGIC


def _sync_all(paths: Iterable[Path]) -> None:
    for path in dict.fromkeys(paths):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
