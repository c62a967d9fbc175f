"""Lists of texts: their states have the texts of panes and corrections, and rows list those of their states."""

import struct
from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Final, NamedTuple

from tidemark.pipeline.event_time.field_measures import FieldMeasure, Function
from tidemark.pipeline.verifier.distinct_values import check_sketches, windows_of
from tidemark.pipeline.verifier.published_results import PublishedReport
from tidemark.pipeline.verifier.verification import Finding, Row
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_HEAD: Final = struct.Struct(">IQ")
_LENGTH: Final = struct.Struct(">I")
_BEFORE_TEXT: Final = {Function.COLLECT_SET: 0, Function.PATH: 16}
"""The bytes before the text of an entry: of an event its time and record position."""


class _State(NamedTuple):
    """A state that was taken apart; without a text all is empty."""

    most: int = 0
    total: int = 0
    entries: tuple[bytes, ...] = ()

    @property
    def left_out(self) -> int:
        return self.total - len(self.entries)


def check(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Compares the state of each row that has its panes; other checks report rows that are missing."""
    for function in _BEFORE_TEXT:
        check_sketches(tables, result, finding, function, (partial(_differing, function), _state_difference))


def check_display(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Checks that lists, and what they leave out, are those of the states of their rows."""
    for measure in result.report.field_measures:
        if measure.function in _BEFORE_TEXT:
            listed, left_out = measure.measure_names
            columns = f"{listed} AS listed, {left_out} AS left_out, {measure.name}_sketch AS state"
            sql = f"SELECT {', '.join(result.cell)}, {columns} FROM {result.table}"
            _, rows = tables.compare(sql, partial(_other_list, measure))
            finding.report_rows(rows, partial(_list_difference, result, measure.name))


def _differing(function: Function, row: Row) -> list[int] | None:
    """Returns how many texts the panes of a row list and leave out; None if the states are equal."""
    actual = Counter(_read(state) for state in row["actual"] if state is not None)
    missing = Counter(_joined(function, map(_read, window)) for window in windows_of(row)) - actual
    if not missing:
        return None
    expected = min(missing)
    return [len(expected.entries), expected.left_out]


def _other_list(measure: FieldMeasure, row: Row) -> list[int] | None:
    """Returns how many texts the state lists and leaves out; None if the row has a state and shows it."""
    state = _read(row["state"] or b"")
    texts = [entry[_BEFORE_TEXT[measure.function] :].decode(errors="replace") for entry in state.entries]
    is_shown = row["listed"] is not None and [*row["listed"]] == texts and row["left_out"] == state.left_out
    return None if is_shown and row["state"] is not None else [len(texts), state.left_out]


def _joined(function: Function, states: Iterable[_State]) -> _State:
    """Returns the state of all texts in `states`: events are in the order of their time and position, texts in theirs.

    Of a set there is at least one text more than it lists, or there is none.
    """
    filled = [state for state in states if state.entries]
    if not filled:
        return _State()
    most, entries = filled[0].most, [entry for state in filled for entry in state.entries]
    if function is Function.PATH:
        return _State(most, sum(state.total for state in filled), tuple(sorted(entries)[:most]))
    texts = sorted({*entries})
    has_more = len(texts) > most or any(state.left_out for state in filled)
    return _State(most, len(texts[:most]) + has_more, tuple(texts[:most]))


def _read(state: bytes) -> _State:
    """Returns the parts of a state; one that is damaged has other entries than it should."""
    whole, entries = bytes(state), list[bytes]()
    if len(whole) < _HEAD.size:
        return _State()
    most, count = _HEAD.unpack_from(whole)
    rest = whole[_HEAD.size :]
    while len(rest) >= _LENGTH.size:
        (length,) = _LENGTH.unpack_from(rest)
        entries.append(rest[_LENGTH.size : _LENGTH.size + length])
        rest = rest[_LENGTH.size + length :]
    return _State(most, count, tuple(entries))


def _state_difference(result: PublishedReport, name: str, row: Row) -> str:
    """Returns the sentence on a row whose panes have other texts, which it does not name."""
    place = result.place_of(row)
    return f"{place} has other texts of {name} than its panes and corrections, of which it {_counts_of(row)}"


def _list_difference(result: PublishedReport, name: str, row: Row) -> str:
    """Returns the sentence on a row whose list is not that of its state."""
    return f"{result.place_of(row)} shows other texts of {name} than its state, of which it {_counts_of(row)}"


def _counts_of(row: Row) -> str:
    """Returns how many texts a row must list and leave out."""
    listed, left_out = row["expected"]
    return f"must list {listed} and leave out {left_out}"
