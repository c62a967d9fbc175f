"""Duplicates, as sent by a producer that retries because it does not know whether its first attempt arrived."""

from typing import Final

import numpy as np

from tidemark.producers.batch import Batch
from tidemark.producers.disorder import Disorder
from tidemark.producers.kinds import COUNTED, Kind

_LATEST: Final = 1_000


class Repeater:
    """Replaces some events by identical earlier events; the number of events does not change.

    Only counted events among the latest thousand are repeated, and no event of the partition that goes silent.
    """

    def __init__(self, disorder: Disorder, rng: np.random.Generator) -> None:
        self._share, self._rng = disorder.duplicate_share, rng
        self._silent = -1 if disorder.silent_partition is None else disorder.silent_partition
        self._known: Batch | None = None

    def repeat(self, batch: Batch) -> Batch:
        """Returns `batch` with a share of its events replaced by earlier events."""
        if not self._share:
            return batch
        sent = batch if self._known is None else self._with_duplicates(batch, self._known)
        counted = np.isin(sent.kinds, COUNTED) & (sent.partitions != self._silent)
        fresh = sent.take(np.flatnonzero(counted))
        known = self._known.concat(fresh) if self._known else fresh
        self._known = known.take(np.arange(len(known))[-_LATEST:])
        return sent

    def _with_duplicates(self, batch: Batch, known: Batch) -> Batch:
        repeated = self._rng.random(len(batch)) < self._share * bool(len(known))
        indices = np.arange(len(batch)) + len(known)
        indices[repeated] = self._rng.integers(0, max(1, len(known)), repeated.sum())
        sent = known.concat(batch).take(indices)
        sent.kinds[repeated] = Kind.DUPLICATE
        return sent
