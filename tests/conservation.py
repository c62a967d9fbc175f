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

from pipeline.tables.schemas import CLOSED_APP
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
    """Of every report of all events in tumbling windows; an event counts in several that overlap."""
    told = {"page_views", "clicks"}
    panes = table(warehouse, "panes")
    panes = panes.filter(pc.is_in(panes["batch"], pc.unique(ledger["batch"])))
    for name, made_as in _reports(warehouse).items():
        windows = made_as["windows"]
        tumble = windows["kind"] == "grid" and windows["size_ms"] == windows["slide_ms"]
        # Where sessions begun are counted, panes are shorter than windows.
        if tumble and not made_as["where"] and told <= {*made_as["measures"]} and not made_as["session_gap_ms"]:
            mine = panes.filter(pc.field("report") == name)
            there = _assert_published(mine, table(warehouse, name), made_as, balance, _swept_until(warehouse, name))
            assert there <= balance.counted, name
            # Another report may have begun later than the ledger.
            if name == "page_views":
                assert there >= balance.counted - pc.sum(ledger["partly_late"]).as_py()


def _assert_published(panes: pa.Table, shown: pa.Table, made_as: dict[str, Any], balance: Balance, swept: int) -> int:
    """What has fired is published as its panes add up; what has not is in panes only. Returns how many events.

    Of windows that end no later than `swept` some panes may be gone and others not.
    """
    keys, size = made_as["keys"], made_as["windows"]["size_ms"]
    waits = _counts(panes.rename_columns({"pane_start": "window_start"}), keys)
    shows = _counts(_in_milliseconds(shown, keys, size), keys)
    fired = {key for key in waits if balance.watermark is not None and key[0] + size <= balance.watermark}
    assert all(start + size <= (balance.watermark or 0) for start, *_ in shows), "a window is shown that has not fired"
    assert all(shows.get(key, 0) >= waits[key] for key in fired)
    whole = {key for key in fired if key[0] + size > swept}
    kept = {start for start, *_ in whole}
    assert {key: count for key, count in shows.items() if key[0] in kept} == {key: waits[key] for key in whole}
    return sum(shows.values()) + sum(count for key, count in waits.items() if key not in fired)


def _swept_until(warehouse: Path, name: str) -> int:
    """Up to which end windows of a report are final, if upkeep has removed any panes of it."""
    deleted = [one for one in DeltaTable(str(warehouse / "panes")).history() if one["operation"] == "DELETE"]
    is_swept = any(f"'{name}'" in one["operationParameters"]["predicate"] for one in deleted)
    return (DeltaTable(str(warehouse / name)).transaction_version(CLOSED_APP) or 0) if is_swept else 0


def _counts(events: pa.Table, keys: list[str]) -> dict[tuple[Any, ...], int]:
    """(window start, the keys) -> events."""
    sums = events.group_by(["window_start", *keys]).aggregate([(name, "sum") for name in _EVENTS]).to_pylist()
    return {
        (row["window_start"], *(row[key] for key in keys)): sum(row[f"{name}_sum"] for name in _EVENTS) for row in sums
    }


def _in_milliseconds(shown: pa.Table, keys: list[str], size: int) -> pa.Table:
    """A report with plain window starts; a row must be there once, span a window, and tell of some event."""
    assert len(shown.group_by(["window_start", *keys]).aggregate([])) == len(shown), "a row is there twice"
    rows: list[dict[str, Any]] = shown.to_pylist()
    for row in rows:
        assert (row["window_end"] - row["window_start"]).total_seconds() * 1000 == size, row
        assert 0 <= row["late_events"] <= row["page_views"] + row["clicks"] > 0, row
    starts = pc.cast(shown["window_start"].cast(pa.timestamp("ms", tz="UTC")), pa.int64())
    return shown.set_column(0, "window_start", starts)


def _reports(warehouse: Path) -> dict[str, dict[str, Any]]:
    """What each report's table was made for."""
    told = {path.name: DeltaTable(str(path)).metadata().configuration for path in warehouse.iterdir() if path.is_dir()}
    return {name: json.loads(one["tidemark.report"]) for name, one in told.items() if "tidemark.report" in one}
