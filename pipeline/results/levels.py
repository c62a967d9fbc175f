"""Which files of `panes` are worth a merge: those of about the same size that follow one another, newest first.

Source: O'Neil et al., "The Log-Structured Merge-Tree" (1996), in its tiered form: a row is written once for each level
that it reaches, of which there are few, and what a merge touches is bounded.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

_MANY: Final = 64
"""So many files of the lowest level are merged."""
_FANOUT: Final = 8
"""So many runs of a higher level are; each level has runs of so many times the rows."""
_BASE_ROWS: Final = 100_000
_MOST_ROWS: Final = 20_000_000
"""A run of more rows is not touched again, until all of it is swept."""


@dataclass(frozen=True, slots=True)
class Run:
    """The rows of a report in `panes` from batch `first` to batch `last`."""

    first: int
    last: int
    rows: int
    last_pane: int
    """The latest start of a pane in it, in milliseconds."""
    files: tuple[int, ...] = ()
    """Its files, by their rows in the statistics that it was made of."""

    @property
    def level(self) -> int:
        """How often its rows were merged, about."""
        level, most = 0, _BASE_ROWS
        while self.rows >= most:
            level, most = level + 1, most * _FANOUT
        return level


def runs_of(files: pa.Table, batch: int) -> Mapping[str, list[Run]]:
    """Returns by report the runs of what was appended up to a batch, oldest first, from statistics of files.

    Files that overlap are one run, also with a file that goes beyond the batch: such a run is left out as a whole.
    """
    found = defaultdict[str, list[Run]](list)
    names = ["partition.report", "min.batch", "max.batch", "num_records", "max.pane_start"]
    rows = files.select(names).append_column("file", pa.array(range(len(files)))) if len(files) else None
    for row in rows.sort_by("min.batch").to_pylist() if rows else []:
        report, first, last, number, last_pane, file = row.values()
        runs = found[report]
        if runs and (run := runs[-1]).last >= first:
            both = (*run.files, file)
            runs[-1] = Run(run.first, max(run.last, last), run.rows + number, max(run.last_pane, last_pane), both)
        else:
            runs.append(Run(first, last, number, last_pane, (file,)))
    return {report: [run for run in runs if run.last <= batch] for report, runs in found.items()}


def worth_merging(runs: Sequence[Run]) -> Sequence[Run]:
    """The newest runs of one level and below it, where these are many; the lowest level first."""
    for level in sorted({run.level for run in runs}):
        newest = _newest(runs, level)
        wanted = _FANOUT if level else _MANY
        is_many = sum(run.level == level for run in newest) >= wanted
        if is_many and sum(run.rows for run in newest) <= _MOST_ROWS:
            return newest
    return ()


def worth_rewriting(runs: Sequence[Run]) -> bool:
    """Whether as much came since the oldest run as it holds: then all of it may be rewritten."""
    rest = sum(run.rows for run in runs[1:])
    return len(runs) >= _MANY and rest + _BASE_ROWS >= runs[0].rows


def _newest(runs: Sequence[Run], level: int) -> Sequence[Run]:
    """The longest row of runs up to the newest one of which none is above a level."""
    above = [place for place, run in enumerate(runs) if run.level > level]
    return runs[above[-1] + 1 if above else 0 :]
