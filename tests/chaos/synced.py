"""Which commits a power cut could undo: by the log of a process's calls on files."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from tests.chaos.rules import Action, Rule

LOGGED: Final = Rule("all", "link,fsync", "*", Action.LOG, lasting=True)
"""Logs each commit and each sync."""
_TABLES: Final = ("panes", "dead_letters", "ledger")
"""The ledger's next commit depends on the commits to these tables."""


def commits(warehouse: Path, log: Sequence[tuple[str, str]]) -> Iterator[tuple[int, set[str]]]:
    """Yields for each commit with data its place in `log`, and the paths to be synced: files, entry and folders."""
    for place, (op, path) in enumerate(log):
        entry = Path(path)
        if op == "link" and entry.parts[0] in _TABLES and entry.suffix == ".json":
            actions = [json.loads(line) for line in (warehouse / entry).read_text().splitlines()]
            files = [entry.parents[1] / unquote(action["add"]["path"]) for action in actions if "add" in action]
            if files:
                yield place, {str(path) for file in (*files, entry) for path in (file, file.parent)}


def unsynced(warehouse: Path, log: Sequence[tuple[str, str]]) -> list[set[str]]:
    """Returns the paths of each commit that were not synced when the ledger's next commit came; without empty sets."""
    ledger = [place for place, (op, path) in enumerate(log) if op == "link" and path.startswith("ledger/")]
    missing = []
    for place, needed in commits(warehouse, log):
        if after := next((other for other in ledger if other > place), None):
            missing.append(needed - {path for op, path in log[place:after] if op == "fsync"})
    return [paths for paths in missing if paths]
