"""Partial sessions: rows of a key that follow one another within a gap are joined to one session.

In numpy, because a window function of the query engine costs microseconds per key, and keys have few rows.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.event_time.reports import KEYS
from tidemark.pipeline.measures import PARTS, Join, Part
from tidemark.pipeline.results.measure_sql import MERGED, Merge
from tidemark.pipeline.results.result_kind import as_panes

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
_JOINS: Final[Mapping[Join, np.ufunc]] = {Join.SUM: np.add, Join.MIN: np.minimum, Join.MAX: np.maximum}
_ADDS_UP: Final[Mapping[str, np.ufunc]] = {
    **{part.name: _JOINS[part.join] for part in PARTS if part.join in _JOINS},
    c.LATE_EVENTS: np.add,
    c.BATCH: np.maximum,
    c.WATERMARK: np.minimum,
    c.CLOSED_UNTIL: np.minimum,
}

_MOST: Final = 9e18
"""The highest sum of numbers of 64 bits."""


class PartialSessions:
    """Partial sessions in rows that are sorted by keys, `first_time` and `last_time`."""

    def __init__(
        self,
        rows: pa.Table,
        keys: Sequence[str],
        gap_ms: int,
        closed: Numbers | None = None,
        parts: Sequence[Part] = (),
    ) -> None:
        """`closed` has a time for each row: it joins no session that ends by then, because that was closed.

        `parts` are those of a report.
        """
        self._rows = rows
        self._joins = {**_ADDS_UP, **{part.name: _JOINS[part.join] for part in parts if part.join in _JOINS}}
        self._sketches = {part.name: MERGED[part.join] for part in parts if part.join.is_sketch}
        _require_64_bits(rows, [part.name for part in parts if part.is_exact])
        is_new, first = _is_new(rows, keys), rows[c.FIRST_TIME].to_numpy()
        reach = _highest_before(rows[c.LAST_TIME].to_numpy(), is_new) + gap_ms
        # A row starts a session if neither it nor a later row joins what is before it. All rows that came after a
        # session had closed lie after its last event.
        # A row that comes exactly a gap later still joins, so it is apart only from what ends before its first time.
        apart = first - 1
        if closed is not None:
            # A row joins sessions that end after this time. A session that is merged to one row joins those that any
            # of its rows joins: its earliest event may be one that came after they had closed.
            joins_after = np.maximum(apart, closed)
            self._rows = rows.set_column(rows.column_names.index(c.CLOSED_UNTIL), c.CLOSED_UNTIL, [joins_after])
            apart = _lowest_from(joins_after, is_new)
        self._starts = np.flatnonzero(reach <= apart)

    def joined(self) -> pa.Table:
        """Returns a row for each session, which joins its rows."""
        firsts = self._rows.take(self._starts)
        joined = {name: self._added_up(name) for name in firsts.column_names if name in self._joins}
        joined |= {name: self._merged(name, merged) for name, merged in self._sketches.items()}
        return pa.table({name: joined.get(name, firsts[name]) for name in firsts.column_names})

    def _added_up(self, name: str) -> pa.Array:
        values, join = self._rows[name], self._joins[name]
        if not pa.types.is_string(values.type):
            return pa.array(join.reduceat(values.to_numpy(), self._starts))
        # The highest text has the highest rank.
        ranks = pc.rank(values, tiebreaker="dense").to_numpy()
        _, indices = np.unique(ranks, return_index=True)
        return values.take(pa.array(indices[join.reduceat(ranks, self._starts).astype(np.int64) - 1]))

    def _merged(self, name: str, merged: Merge) -> pa.Array:
        values, bounds = self._rows[name].to_pylist(), [*self._starts, len(self._rows)]
        return pa.array([merged(values[start:end]) for start, end in pairwise(bounds)], pa.binary())


def _require_64_bits(rows: pa.Table, names: Sequence[str]) -> None:
    """Raises OverflowError if sums of a column may exceed 64 bits, which numpy would not notice."""
    for name in names:
        if np.abs(rows[name].to_numpy().astype(np.float64)).sum() > _MOST:
            raise OverflowError(f"the sums of {name} may exceed {_MOST:.0e}: use fewer digits")


def sessions_as_panes(sessions: pa.Table, consumer: Consumer) -> pa.Table:
    """Returns sessions of a report or of totals as rows of `panes`.

    The pane of a session starts at its last event: later events in that pane meet the session, and a start of the
    service reads from the starts of panes how late their events are.
    """
    name = pa.repeat(pa.scalar(consumer.name), len(sessions))
    for key in {*consumer.keys} - {*KEYS}:
        sessions = sessions.append_column(consumer.stored(key), sessions[key].cast(pa.string()))
    return as_panes(sessions.append_column(c.REPORT, name).append_column(c.PANE_START, sessions[c.LAST_TIME]))


def _is_new(rows: pa.Table, keys: Sequence[str]) -> Flags:
    """Flags rows whose key differs from that of the row before."""
    new: Flags = np.arange(len(rows)) == 0
    for key in keys:
        # Encoded, because null is a key like any other value.
        values = rows[key].combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
        new[1:] |= values[1:] != values[:-1]
    return new


def _highest_before(values: Numbers, is_new: Flags) -> Numbers:
    """Returns the highest value among the earlier rows of each row's key; `NO_WATERMARK` for the first row of a key."""
    count, in_order = len(values), np.argsort(values, kind="stable")
    rank = np.empty(count, dtype=np.int64)
    rank[in_order] = np.arange(count)
    # The index of the key comes before the rank, so one running maximum serves all keys.
    highest = np.maximum.accumulate(np.cumsum(is_new) * count + rank) % max(count, 1)
    return np.where(is_new, rules.NO_WATERMARK, np.roll(values[in_order][highest], 1))


def _lowest_from(values: Numbers, is_new: Flags) -> Numbers:
    """Returns the lowest value among each row and the later rows of its key."""
    # `_highest_before` of negated values, backwards. The last row gets the flag of the first, which is always new.
    is_last = np.roll(is_new, -1)
    lowest_after = -_highest_before(-values[::-1], is_last[::-1])[::-1]
    return np.minimum(values, lowest_after)
