"""The ids of counted events, with which later events are recognised as duplicates.

An id is remembered while any window of its event is open. After that a repetition has the same time and is too late
anyway. All times are milliseconds since 1970.

Ids are stored in sorted runs: a look-up is cheap for any number of ids, and a row is rarely moved.
Source: O'Neil et al., "The Log-Structured Merge-Tree" (1996).
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ids:
    """Columns of events: the two halves of their 128-bit ids, and their event times."""

    high: Longs
    low: Longs
    time: Longs

    def __len__(self) -> int:
        return len(self.high)

    def __getitem__(self, which: Any) -> "Ids":
        return Ids(self.high[which], self.low[which], self.time[which])

    def in_order(self) -> "Ids":
        """Returns the events sorted by `high`. For concatenated sorted runs this is a merge."""
        return self[np.argsort(self.high, kind="stable")]

    def concat(self, others: "Ids") -> "Ids":
        """Returns these events followed by others."""
        pairs = ((self.high, others.high), (self.low, others.low), (self.time, others.time))
        return Ids(*map(np.concatenate, pairs))


@dataclass(frozen=True, slots=True)
class RememberedIds:
    """An immutable set of ids. A batch leads to the next set, which takes its place once the batch is committed."""

    runs: tuple[Ids, ...] = ()
    """Each run is sorted, and at least twice as long as the next run."""

    @classmethod
    def of(cls, ids: Ids) -> Self:
        """Returns the set of `ids`."""
        return cls((ids.in_order(),) if len(ids) else ())

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    def repeated(self, ids: Ids, positions: Longs, since: int) -> Bools:
        """Flags events that repeat a remembered event of `since` or later, or an event at a lower position of `ids`."""
        order = np.argsort(ids.high)
        in_order = ids[order]
        flags = _repeats_earlier(in_order, positions[order])
        for run in self.runs:
            flags |= _are_in(run, in_order, since)
        repeated = np.empty_like(flags)
        repeated[order] = flags
        return repeated

    def after(self, counted: Ids, since: int) -> "RememberedIds":
        """Returns the set with the `counted` events of a batch. Merges of runs drop events before `since`."""
        runs = [run for run in self.runs if run.time.max() >= since]
        if len(counted):
            runs.append(counted.in_order())
        while len(runs) > 1 and len(runs[-2]) < 2 * len(runs[-1]):
            both = runs[-2].concat(runs[-1])
            runs[-2:] = [both[both.time >= since].in_order()]
        return RememberedIds(tuple(run for run in runs if len(run)))


def _repeats_earlier(ids: Ids, positions: Longs) -> Bools:
    """Flags events, sorted by `high`, whose id another event at a lower position has."""
    flags = np.zeros(len(ids), np.bool_)
    equal_high = np.flatnonzero(ids.high[1:] == ids.high[:-1])
    rows = np.union1d(equal_high, equal_high + 1)  # few, so a full sort of them is cheap
    rows = rows[np.lexsort((positions[rows], ids.low[rows], ids.high[rows]))]
    equal = (ids.high[rows][1:] == ids.high[rows][:-1]) & (ids.low[rows][1:] == ids.low[rows][:-1])
    flags[rows[1:][equal]] = True
    return flags


def _are_in(run: Ids, ids: Ids, since: int) -> Bools:
    """Flags ids that a run contains with a time of `since` or later."""
    flags = np.zeros(len(ids), np.bool_)
    indices = np.searchsorted(run.high, ids.high)
    rest = np.arange(len(ids))
    # A second round happens only if two ids share 64 bits.
    while len(rest := rest[_has(run, indices[rest], ids.high[rest])]):
        at = indices[rest]
        flags[rest] |= (run.low[at] == ids.low[rest]) & (run.time[at] >= since)
        indices[rest] += 1
    return flags


def _has(run: Ids, indices: NDArray[np.intp], high: Longs) -> Bools:
    """Flags where a run has these halves at these indices, which may exceed its length."""
    flags: Bools = (indices < len(run)) & (run.high.take(indices, mode="clip") == high)
    return flags
