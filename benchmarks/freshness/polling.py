"""Finds the rows that a reader of a result sees: those of a Delta table, or of a folder of finished Parquet files."""

import json
from collections import Counter
from pathlib import Path
from typing import Protocol

import pyarrow.parquet as pq

from benchmarks.peers.flink.check import finished_files, milliseconds

_COUNTS = ("page_views", "clicks")


class Result(Protocol):
    """A result that grows."""

    def new_files(self) -> list[Path]:
        """Returns the files with rows that are visible now and were not at the last call."""


class DeltaLog:
    """A Delta table, read by its log."""

    def __init__(self, table: Path) -> None:
        self._table, self._next = table, 0

    def new_files(self) -> list[Path]:
        """Returns the files that the versions since the last call added, without those that only merge files."""
        files = list[Path]()
        while (version := self._table / "_delta_log" / f"{self._next:020}.json").exists():
            added = [
                action["add"] for line in version.read_text().splitlines() if "add" in (action := json.loads(line))
            ]
            files += [self._table / add["path"] for add in added if add["dataChange"]]
            self._next += 1
        return files


class FinishedFiles:
    """A folder of Parquet files; the name of a file that is not finished begins with a dot."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._seen = folder, set[Path]()

    def new_files(self) -> list[Path]:
        """Returns the files that were finished since the last call."""
        files = {*finished_files(self._folder)} - self._seen
        self._seen |= files
        return list(files)


def events_in(file: Path) -> Counter[int]:
    """Reads the rows of a file, and sums the events that they count by the end of the window in milliseconds."""
    rows = pq.read_table(file, columns=["window_end", *_COUNTS], partitioning=None)
    sums = rows.group_by("window_end").aggregate([(name, "sum") for name in _COUNTS])
    columns = [sums[f"{name}_sum"].to_pylist() for name in _COUNTS]
    events = Counter[int]()
    for end, *counts in zip(milliseconds(sums["window_end"]).to_pylist(), *columns, strict=True):
        events[end] += sum(counts)
    return events
