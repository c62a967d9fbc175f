"""The ids of events that were counted: which events repeat one of them, and how long each is remembered.

An id is remembered as long as some window of its event is open. After that nothing need be known of it: the same event,
with its same time, is too late by itself. All times are milliseconds since the epoch.

They are kept as sorted runs, so that a look-up costs little however many there are, and a row is moved seldom.
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
    """Events side by side: their ids as two halves of 128 bits, and the times that count."""

    high: Longs
    low: Longs
    time: Longs

    def __len__(self) -> int:
        return len(self.high)

    def __getitem__(self, which: Any) -> "Ids":
        return Ids(self.high[which], self.low[which], self.time[which])

    def in_order(self) -> "Ids":
        """The same in the order of their halves `high`; of runs that follow one another this is a merge."""
        return self[np.argsort(self.high, kind="stable")]

    def and_then(self, others: "Ids") -> "Ids":
        """Both, one after the other."""
        pairs = ((self.high, others.high), (self.low, others.low), (self.time, others.time))
        return Ids(*map(np.concatenate, pairs))


@dataclass(frozen=True, slots=True)
class RememberedIds:
    """A set of ids. It is immutable: a batch leads to the next one, which is taken when the batch is committed."""

    runs: tuple[Ids, ...] = ()
    """Each in order, and none less than twice as long as the next."""

    @classmethod
    def of(cls, ids: Ids) -> Self:
        """Some ids."""
        return cls((ids.in_order(),) if len(ids) else ())

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    def repeated(self, ids: Ids, positions: Longs, since: int) -> Bools:
        """Which events repeat one that is remembered with a time from `since` on, or one at a lower position."""
        order = np.argsort(ids.high)
        asked = ids[order]
        found = _behind_the_first(asked, positions[order])
        for run in self.runs:
            found |= _are_in(run, asked, since)
        repeated = np.empty_like(found)
        repeated[order] = found
        return repeated

    def after(self, counted: Ids, since: int) -> "RememberedIds":
        """With those of a batch; what is older than `since` is forgotten when it is in the way."""
        runs = [run for run in self.runs if run.time.max() >= since]
        if len(counted):
            runs.append(counted.in_order())
        while len(runs) > 1 and len(runs[-2]) < 2 * len(runs[-1]):
            both = runs[-2].and_then(runs[-1])
            runs[-2:] = [both[both.time >= since].in_order()]
        return RememberedIds(tuple(run for run in runs if len(run)))


def _behind_the_first(ids: Ids, positions: Longs) -> Bools:
    """Which of some ids in order are of an event that has the same as one at a lower position."""
    found = np.zeros(len(ids), np.bool_)
    meets = np.flatnonzero(ids.high[1:] == ids.high[:-1])
    some = np.union1d(meets, meets + 1)  # few, so that only they need the whole order
    some = some[np.lexsort((positions[some], ids.low[some], ids.high[some]))]
    same = (ids.high[some][1:] == ids.high[some][:-1]) & (ids.low[some][1:] == ids.low[some][:-1])
    found[some[1:][same]] = True
    return found


def _are_in(run: Ids, ids: Ids, since: int) -> Bools:
    """Which of some ids a run has, with a time from `since` on."""
    found = np.zeros(len(ids), np.bool_)
    place = np.searchsorted(run.high, ids.high)
    left = np.arange(len(ids))
    # A second turn is needed only where two ids share 64 bits.
    while len(left := left[_has(run, place[left], ids.high[left])]):
        at = place[left]
        found[left] |= (run.low[at] == ids.low[left]) & (run.time[at] >= since)
        place[left] += 1
    return found


def _has(run: Ids, place: NDArray[np.intp], high: Longs) -> Bools:
    """Whether a run has these halves in these places, which may be behind its end."""
    found: Bools = (place < len(run)) & (run.high.take(place, mode="clip") == high)
    return found
