"""Rows of a key that follow one another in time within a gap: an island of them is one session.

In numpy, because a window function of the query engine costs microseconds for every key, and keys have few rows.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline import columns as c
from pipeline.event_time import rules
from pipeline.measures import PARTS, Join
from pipeline.results.result_kind import as_panes

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


class Islands:
    """The islands in rows that are in the order of their keys, `first_time` and `last_time`."""

    def __init__(self, rows: pa.Table, keys: Sequence[str], gap_ms: int, closed: Numbers | None = None) -> None:
        """`closed` tells of each row up to which end islands were closed when it came: it joined none of these."""
        self._rows = rows
        is_new, first = _is_new(rows, keys), rows[c.FIRST_TIME].to_numpy()
        reach = _highest_before(rows[c.LAST_TIME].to_numpy(), is_new) + gap_ms
        # What begins an island joins nothing before it, and neither does any row after it; all rows that came after an
        # island had closed lie after its last event.
        apart = first - 1 if closed is None else _lowest_from(np.maximum(first - 1, closed), is_new)
        self._starts = np.flatnonzero(reach <= apart)

    def joined(self) -> pa.Table:
        """A row for each island: what its rows add up to."""
        firsts = self._rows.take(self._starts)
        return pa.table(
            {name: self._added_up(name) if name in _ADDS_UP else firsts[name] for name in firsts.column_names}
        )

    def _added_up(self, name: str) -> pa.Array:
        values, join = self._rows[name], _ADDS_UP[name]
        if not pa.types.is_string(values.type):
            return pa.array(join.reduceat(values.to_numpy(), self._starts))
        # The highest text is that of the highest rank.
        ranks = pc.rank(values, tiebreaker="dense").to_numpy()
        _, places = np.unique(ranks, return_index=True)
        return values.take(pa.array(places[join.reduceat(ranks, self._starts).astype(np.int64) - 1]))


def panes_of(sessions: pa.Table, report: str) -> pa.Table:
    """Sessions of a report as rows of `panes`.

    Each stands in a pane at its last event: whoever falls into that pane later meets it, and a start that reads the
    panes knows how far their events reach.
    """
    name = pa.repeat(pa.scalar(report), len(sessions))
    return as_panes(sessions.append_column(c.REPORT, name).append_column(c.PANE_START, sessions[c.LAST_TIME]))


def _is_new(rows: pa.Table, keys: Sequence[str]) -> Flags:
    """Of each row, whether its key is another than that of the row before."""
    new: Flags = np.arange(len(rows)) == 0
    for key in keys:
        # Encoded, because of a key that an event does not have null is a value like any other.
        values = rows[key].combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
        new[1:] |= values[1:] != values[:-1]
    return new


def _highest_before(values: Numbers, is_new: Flags) -> Numbers:
    """The highest value among the rows before each one, back to the last whose key is new; no time if it is itself."""
    number, in_order = len(values), np.argsort(values, kind="stable")
    rank = np.empty(number, dtype=np.int64)
    rank[in_order] = np.arange(number)
    # With the number of the key before the rank one running maximum serves all keys: it never falls back to another's.
    highest = np.maximum.accumulate(np.cumsum(is_new) * number + rank) % max(number, 1)
    return np.where(is_new, rules.NO_WATERMARK, np.roll(values[in_order][highest], 1))


def _lowest_from(values: Numbers, is_new: Flags) -> Numbers:
    """The lowest value among each row and those after it, up to the last of its key."""
    is_last = np.roll(is_new, -1)
    lowest_after = -_highest_before(-values[::-1], is_last[::-1])[::-1]
    return np.minimum(values, lowest_after)
