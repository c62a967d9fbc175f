"""Events that are sent again, as by a producer that does not know whether its answer was lost."""

from typing import Final

import numpy as np

from producers.batch import Batch
from producers.disorder import Disorder
from producers.kinds import COUNTED, Kind

_LATEST: Final = 1_000


class Repeater:
    """Puts events of before, byte for byte, in the place of some, so that a run is no longer for it.

    Only what a consumer counts is sent again, of the latest thousand events, and nothing to a partition that falls
    silent.
    """

    def __init__(self, disorder: Disorder, rng: np.random.Generator) -> None:
        self._share, self._rng = disorder.duplicate_share, rng
        self._silent = -1 if disorder.silent_partition is None else disorder.silent_partition
        self._known: Batch | None = None

    def __call__(self, batch: Batch) -> Batch:
        """The batch as it is sent."""
        if not self._share:
            return batch
        sent = batch if self._known is None else self._again(batch, self._known)
        counted = np.isin(sent.kinds, COUNTED) & (sent.partitions != self._silent)
        fresh = sent.taken(np.flatnonzero(counted))
        known = self._known.and_then(fresh) if self._known else fresh
        self._known = known.taken(np.arange(len(known))[-_LATEST:])
        return sent

    def _again(self, batch: Batch, known: Batch) -> Batch:
        again = self._rng.random(len(batch)) < self._share * bool(len(known))
        places = np.arange(len(batch)) + len(known)
        places[again] = self._rng.integers(0, max(1, len(known)), again.sum())
        sent = known.and_then(batch).taken(places)
        sent.kinds[again] = Kind.DUPLICATE
        return sent
