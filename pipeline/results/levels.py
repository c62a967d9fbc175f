"""Selects the files of `panes` that are worth merging: files of similar size that follow one another.

Source: O'Neil et al., "The Log-Structured Merge-Tree" (1996), in its tiered form: a row is rewritten once for each
of few levels, and the size of a merge is bounded.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

_FANOUT: Final = 8
"""This many runs of a higher level are merged. A run has about this many times the rows of the level below."""
_BASE_ROWS: Final = 100_000
_MOST_ROWS: Final = 20_000_000
"""Runs with more rows together are not merged."""


@dataclass(frozen=True, slots=True)
class Run:
    """The rows of a report in `panes`, from batch `first` to batch `last`."""

    first: int
    last: int
    rows: int
    last_pane: int
    """The latest start of a pane in the run, in milliseconds."""
    files: tuple[int, ...] = ()
    """Its files, by their index in the statistics of files."""

    @property
    def level(self) -> int:
        """About how often its rows were merged."""
        level, most = 0, _BASE_ROWS
        while self.rows >= most:
            level, most = level + 1, most * _FANOUT
        return level


def runs_of(files: pa.Table, batch: int) -> Mapping[str, list[Run]]:
    """Returns the runs of each report up to `batch`, oldest first, from the statistics of files.

    Files with overlapping batches are one run. A run that continues after `batch` is left out.
    """
    runs_by_report = defaultdict[str, list[Run]](list)
    names = ["partition.report", "min.batch", "max.batch", "num_records", "max.pane_start"]
    rows = files.select(names).append_column("file", pa.array(range(len(files)))) if len(files) else None
    for row in rows.sort_by("min.batch").to_pylist() if rows else []:
        report, first, last, count, last_pane, file = row.values()
        runs = runs_by_report[report]
        if runs and (run := runs[-1]).last >= first:
            both = (*run.files, file)
            runs[-1] = Run(run.first, max(run.last, last), run.rows + count, max(run.last_pane, last_pane), both)
        else:
            runs.append(Run(first, last, count, last_pane, (file,)))
    return {report: [run for run in runs if run.last <= batch] for report, runs in runs_by_report.items()}


def worth_merging(runs: Sequence[Run], many: int) -> Sequence[Run]:
    """Returns the newest runs up to the lowest level that has enough of them; empty if no level has.

    `many` is enough for the lowest level.

    >>> small = [Run(first=batch, last=batch, rows=10, last_pane=0) for batch in range(64)]
    >>> [len(worth_merging(small[:count], many=64)) for count in (63, 64)]
    [0, 64]
    """
    for level in sorted({run.level for run in runs}):
        newest = _newest(runs, level)
        wanted = _FANOUT if level else many
        is_many = sum(run.level == level for run in newest) >= wanted
        if is_many and sum(run.rows for run in newest) <= _MOST_ROWS:
            return newest
    return ()


def worth_rewriting(runs: Sequence[Run], many: int) -> bool:
    """Returns whether at least `many` runs have as many rows since the oldest run as it has.

    Then all may be rewritten.
    """
    rest = sum(run.rows for run in runs[1:])
    return len(runs) >= many and rest + _BASE_ROWS >= runs[0].rows


def _newest(runs: Sequence[Run], level: int) -> Sequence[Run]:
    """Returns the newest runs, back to the last run above `level`."""
    above = [index for index, run in enumerate(runs) if run.level > level]
    return runs[above[-1] + 1 if above else 0 :]
