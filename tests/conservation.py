"""The conservation laws: what was read is counted or rejected, once, and nothing else is in the tables.

They hold whenever no batch is in hand: after `drain()`, after a stop, after a restart that followed a crash.
"""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from tests.warehouse import EPOCH, table

_REJECTED = ("too_late", "future", "malformed")
_EVENTS = ("page_views", "clicks")


@dataclass(frozen=True)
class Balance:
    """The sums over all batches, and the watermark after the last of them."""

    records: int
    counted: int
    too_late: int
    future: int
    malformed: int
    gap: int
    watermark: int | None


def assert_conserved(warehouse: Path) -> Balance:
    """Hold a warehouse at rest against every law; returns the sums, for a test that knows what they must be."""
    ledger = table(warehouse, "ledger")
    balance = _balance(ledger)
    _assert_ledger_balances(ledger)
    _assert_offsets_join(ledger)
    _assert_watermark_is_handed_on(ledger)
    _assert_every_rejected_record_is_a_dead_letter(ledger, table(warehouse, "dead_letters"))
    _assert_counted_events_are_all_there(warehouse, ledger, balance)
    return balance


def _balance(ledger: pa.Table) -> Balance:
    sums = {name: pc.sum(ledger[name]).as_py() for name in ("records", "counted", *_REJECTED, "gap")}
    newest = ledger.filter(pc.equal(ledger["batch"], pc.max(ledger["batch"])))
    return Balance(**sums, watermark=newest["watermark"][0].as_py())


def _assert_ledger_balances(ledger: pa.Table) -> None:
    keys = set()
    for row in ledger.to_pylist():
        assert row["records"] == row["counted"] + sum(row[reason] for reason in _REJECTED), row
        assert row["to_offset"] - row["from_offset"] == row["records"] + row["gap"], row
        assert row["gap"] >= 0, row
        assert row["batch"] // EPOCH == row["epoch"], row
        assert (row["batch"], row["partition"]) not in keys, row
        keys.add((row["batch"], row["partition"]))


def _assert_offsets_join(ledger: pa.Table) -> None:
    """Each partition is read without holes and without overlaps, from batch to batch and from epoch to epoch."""
    for partition in pc.unique(ledger["partition"]).to_pylist():
        chain = ledger.filter(pc.equal(ledger["partition"], partition)).sort_by("batch").to_pylist()
        for one, next_one in pairwise(chain):
            assert next_one["from_offset"] == one["to_offset"], (one, next_one)


def _assert_watermark_is_handed_on(ledger: pa.Table) -> None:
    """A batch begins where the one before it ended, and the watermark never goes back."""
    steps: dict[int, set[tuple[int | None, int | None]]] = {}
    for row in ledger.to_pylist():
        steps.setdefault(row["batch"], set()).add((row["watermark_before"], row["watermark"]))
    assert all(len(step) == 1 for step in steps.values()), "the partitions of a batch disagree on its watermark"
    chain = [next(iter(steps[batch])) for batch in sorted(steps)]
    for (_, after), (before, _) in pairwise(chain):
        assert before == after
    assert all(before is None or (after is not None and after >= before) for before, after in chain)


def _assert_every_rejected_record_is_a_dead_letter(ledger: pa.Table, dead: pa.Table) -> None:
    place = ["topic", "partition", "offset"]
    assert len(dead.group_by(place).aggregate([])) == len(dead), "a dead letter is there twice"
    told = {
        (row["batch"], row["partition"], reason): row[reason]
        for row in ledger.to_pylist()
        for reason in (*_REJECTED, "partly_late")
        if row[reason]
    }
    groups = dead.group_by(["batch", "partition", "reason"]).aggregate([([], "count_all")]).to_pylist()
    kept = {(row["batch"], row["partition"], row["reason"]): row["count_all"] for row in groups}
    assert kept == told
    _assert_offsets_within(ledger, dead)


def _assert_offsets_within(ledger: pa.Table, dead: pa.Table) -> None:
    read = {
        (row["batch"], row["topic"], row["partition"]): range(row["from_offset"], row["to_offset"])
        for row in ledger.to_pylist()
    }
    for row in dead.select(["batch", "topic", "partition", "offset"]).to_pylist():
        assert row["offset"] in read[row["batch"], row["topic"], row["partition"]], row


def _assert_counted_events_are_all_there(warehouse: Path, ledger: pa.Table, balance: Balance) -> None:
    """What has fired is published as its panes add up; what has not is in panes only; together it is all.

    Of tumbling windows: an event counts in several that overlap.
    """
    if _window(warehouse, "slide") != _window(warehouse, "size"):
        return
    panes = table(warehouse, "panes")
    panes = panes.filter(pc.field("report") == "page_views")
    panes = panes.filter(pc.is_in(panes["batch"], pc.unique(ledger["batch"])))
    counts = _counts(panes.rename_columns({"pane_start": "window_start"}))
    size = _window(warehouse, "size")
    shown = _counts(_in_milliseconds(table(warehouse, "page_views"), size))
    fired = {key for key in counts if balance.watermark is not None and key[0] + size <= balance.watermark}
    assert all(start + size <= (balance.watermark or 0) for start, _ in shown), "a window is shown that has not fired"
    # A closed window's panes may be gone, but they go as a whole.
    kept = {start for start, _ in fired}
    assert {key: count for key, count in shown.items() if key[0] in kept} == {key: counts[key] for key in fired}
    waiting = sum(count for key, count in counts.items() if key not in fired)
    late_for_it = pc.sum(ledger["partly_late"]).as_py()
    assert balance.counted - late_for_it <= sum(shown.values()) + waiting <= balance.counted


def _counts(events: pa.Table) -> dict[tuple[int, str], int]:
    """(window start, user) -> events."""
    sums = events.group_by(["window_start", "user_id"]).aggregate([(name, "sum") for name in _EVENTS]).to_pylist()
    return {(row["window_start"], row["user_id"]): sum(row[f"{name}_sum"] for name in _EVENTS) for row in sums}


def _in_milliseconds(shown: pa.Table, size: int) -> pa.Table:
    """`page_views` with plain window starts; a row must be there once, span a window, and tell of some event."""
    assert len(shown.group_by(["window_start", "user_id"]).aggregate([])) == len(shown), "a row is there twice"
    rows: list[dict[str, Any]] = shown.to_pylist()
    for row in rows:
        assert (row["window_end"] - row["window_start"]).total_seconds() * 1000 == size, row
        assert 0 <= row["late_events"] <= row["page_views"] + row["clicks"] > 0, row
    starts = pc.cast(shown["window_start"].cast(pa.timestamp("ms", tz="UTC")), pa.int64())
    return shown.set_column(0, "window_start", starts)


def _window(warehouse: Path, name: str) -> int:
    """The size or the slide of the windows, in milliseconds."""
    made_as = json.loads(DeltaTable(str(warehouse / "page_views")).metadata().configuration["tidemark.report"])
    return int(made_as["windows"][f"{name}_ms"])
