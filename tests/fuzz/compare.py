"""Compares the tables of a stream with its bytes, record by record."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tests.fuzz.oracle import Outcome
from tests.support.warehouse import table
from tidemark.pipeline.event_time.checks import DETAILS, Check, reason_of

_MINUTE = 60_000


class Sent(NamedTuple):
    """A record, and what must become of it."""

    value: bytes | None
    key: bytes | None
    outcome: Outcome


Place = tuple[int, int]
"""Partition and offset."""


def assert_outcomes(warehouse: Path, sent: Mapping[Place, Sent]) -> None:
    """Every record is counted or a dead letter with all that belongs to it, once; fails with the first ten that differ.

    Only for streams of which no window has fired yet.
    """
    letters = dict(_letters(warehouse))
    expected = {place: letter for place, letter in map(_as_letter, sent.items()) if letter}
    wrong = sorted(place for place in letters.keys() | expected.keys() if letters.get(place) != expected.get(place))
    assert not wrong, [(place, sent.get(place), letters.get(place)) for place in wrong[:10]]
    assert table(warehouse, "dead_letters").num_rows == len(letters)
    assert _counted(warehouse) == Counter(
        (one.outcome.user, (one.outcome.event_time or 0) // _MINUTE * _MINUTE)
        for one in sent.values()
        if one.outcome.check is Check.PASSED
    )
    ledger = table(warehouse, "ledger")
    assert pc.sum(ledger["records"]).as_py() == len(sent)
    assert pc.sum(ledger["counted"]).as_py() == len(sent) - len(expected)
    assert pc.sum(ledger["gap"]).as_py() == 0


def _as_letter(item: tuple[Place, Sent]) -> tuple[Place, tuple[object, ...] | None]:
    place, (value, key, outcome) = item
    if outcome.check is Check.PASSED:
        return place, None
    return place, (reason_of(outcome.check), DETAILS[outcome.check], outcome.event_time, outcome.user, key, value)


def _letters(warehouse: Path) -> Iterator[tuple[Place, tuple[object, ...]]]:
    rows = table(warehouse, "dead_letters")
    columns = ("reason", "detail", "event_time", "user_id", "key", "value")
    places = zip(_list(rows, "partition"), _list(rows, "offset"), strict=True)
    yield from zip(places, zip(*(_list(rows, name) for name in columns), strict=True), strict=True)


def _list(rows: pa.Table, name: str) -> Sequence[object]:
    found: list[object] = rows[name].to_pylist()
    return found


def _counted(warehouse: Path) -> Counter[tuple[str, int]]:
    """Events by user and minute."""
    rows = table(warehouse, "panes").filter(pc.field("report") == "page_views")
    sums = rows.group_by(["user_id", "pane_start"]).aggregate([("page_views", "sum"), ("clicks", "sum")])
    return Counter(
        {(row["user_id"], row["pane_start"]): row["page_views_sum"] + row["clicks_sum"] for row in sums.to_pylist()}
    )
