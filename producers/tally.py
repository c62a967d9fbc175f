"""Counts the sent events, batch by batch, without storing them."""

import numpy as np
import pyarrow as pa

from tidemark.producers.arrays import Bools, Ints
from tidemark.producers.kinds import COUNTED, MALFORMED, Kind
from tidemark.producers.simulate import Batch
from tidemark.producers.truth import COUNTS, Truth

_COMPACT_AT = 1_000_000


class Tally:
    """Counts events per (window, user, late or not, visit or click), per kind and per partition.

    The four values are packed into one integer, so that counting is a sort of integers.
    """

    def __init__(self, user_ids: list[str], window_ms: int) -> None:
        self._user_ids, self._window_ms = user_ids, window_ms
        self._kinds = np.zeros(len(Kind), np.int64)
        self._partitions = np.zeros(0, np.int64)
        self._keys, self._counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._pending: list[Ints] = []
        self._pending_rows = 0

    def add(self, batch: Batch) -> None:
        """Counts a batch that was queued for the broker."""
        self._kinds += np.bincount(batch.kinds, minlength=len(Kind))
        width = max(len(self._partitions), int(batch.partitions.max(initial=-1)) + 1)
        grown = np.zeros(width, np.int64)
        grown[: len(self._partitions)] = self._partitions
        self._partitions = grown + np.bincount(batch.partitions, minlength=width)
        late = batch.kinds == Kind.TOO_LATE
        self._append(self._pack(batch, late)[np.isin(batch.kinds, COUNTED) | late])

    def truth(self, topic: str) -> Truth:
        """Returns the counts of all batches added so far."""
        self._compact()
        late = (self._keys >> 1) & 1 == 1
        kinds = {kind.name.lower(): int(self._kinds[kind]) for kind in Kind}
        malformed = {kind.name.lower(): kinds.pop(kind.name.lower()) for kind in MALFORMED}
        return Truth(
            topic=topic,
            window_ms=self._window_ms,
            sent={**kinds, "malformed": sum(malformed.values())},
            malformed=malformed,
            partitions=dict(enumerate(self._partitions.tolist())),
            on_time=self._table(~late),
            too_late=self._table(late),
        )

    def _pack(self, batch: Batch, late: Bools) -> Ints:
        window = batch.times // self._window_ms
        return ((window * len(self._user_ids) + batch.users) * 2 + late) * 2 + ~batch.visits

    def _append(self, keys: Ints) -> None:
        self._pending.append(keys)
        self._pending_rows += len(keys)
        # Merging only once the pending rows outnumber the merged rows makes the total cost n log n.
        if self._pending_rows > max(_COMPACT_AT, len(self._keys)):
            self._compact()

    def _compact(self) -> None:
        fresh, counts = np.unique(np.concatenate([*self._pending, self._keys[:0]]), return_counts=True)
        keys, group = np.unique(np.concatenate([self._keys, fresh]), return_inverse=True)
        self._counts = _sums(np.concatenate([self._counts, counts]), group, len(keys))
        self._keys, self._pending, self._pending_rows = keys, [], 0

    def _table(self, rows: Bools) -> pa.Table:
        keys, counts = self._keys[rows], self._counts[rows]
        groups, group = np.unique(keys >> 2, return_inverse=True)
        clicks = _sums(counts * (keys & 1), group, len(groups))
        window, user = np.divmod(groups, len(self._user_ids))
        columns = {
            "user_id": pa.array(self._user_ids).take(pa.array(user)),
            "window_start": window * self._window_ms,
            "page_views": _sums(counts, group, len(groups)) - clicks,
            "clicks": clicks,
        }
        return pa.Table.from_pydict(columns, schema=COUNTS)


def _sums(values: Ints, group: Ints, groups: int) -> Ints:
    return np.bincount(group, weights=values, minlength=groups).astype(np.int64)
