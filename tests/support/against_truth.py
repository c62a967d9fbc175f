"""The tables of a warehouse held against what a producer says it sent, exactly."""

from collections import Counter
from pathlib import Path

import pyarrow as pa

from tests.producers.recount import decode
from tests.support.conservation import Balance, assert_conserved
from tests.support.warehouse import EPOCH, page_views, rows
from tidemark.producers.truth import Truth

Cell = tuple[str, int, str]
"""User, window start in milliseconds, and which of the two counts."""
_EVENT_TYPES = {"visit": "page_views", "click": "clicks"}


def assert_matches_truth(warehouse: Path | str, truth: Truth) -> Balance:
    """Checks a warehouse at rest against its invariants and the truth; returns the ledger's sums.

    An event that was sent too late may truly be counted, if it shared a batch with what closed its window; then it is
    no dead letter. So what is counted is all that was sent in time, and the late ones that are not among the dead.
    """
    balance = assert_conserved(warehouse)
    assert_shows(warehouse, truth)
    return balance


def assert_shows(warehouse: Path | str, truth: Truth, corrected: Counter[Cell] | None = None) -> None:
    """Compares counted and rejected events with `truth`; `corrected` was added to closed windows later.

    Only dead letters of committed batches count: a service that was replaced may leave dead letters of a void batch.
    """
    ledger = rows(warehouse, "ledger")
    committed = {row["batch"] for row in ledger}
    dead = [row for row in rows(warehouse, "dead_letters") if row["batch"] in committed]
    reasons = Counter(row["reason"] for row in dead)
    assert sum(row["records"] for row in ledger) == sum(truth.sent.values())
    assert (reasons["malformed"], reasons["future"]) == (truth.sent["malformed"], truth.sent["future"])
    late = Counter(_cell_of(row["value"], truth.window_ms) for row in dead if row["reason"] == "too_late")
    sent = _cells_of(truth.on_time) + _cells_of(truth.too_late)
    assert late <= _cells_of(truth.too_late)
    assert (corrected or Counter()) <= late
    watermark = max(ledger, key=lambda row: row["batch"])["watermark"]
    assert _counted(warehouse, watermark) == sent - late + (corrected or Counter())


def uncommitted_rows(warehouse: Path, name: str) -> int:
    """Returns the number of rows of a table whose batch is not in the ledger."""
    if not (warehouse / name).exists():  # a life that ended before it came to make it
        return 0
    committed = {row["batch"] for row in rows(warehouse, "ledger")}
    return sum(row["batch"] not in committed for row in rows(warehouse, name))


def epochs(warehouse: Path | str) -> set[int]:
    """The epochs that were opened on a warehouse."""
    return {row["batch"] // EPOCH for row in rows(warehouse, "ledger")}


def ledger_version(warehouse: Path) -> int:
    """How many commits the ledger has seen, 0 before the first epoch. Cheap enough to ask again and again."""
    log = warehouse / "ledger" / "_delta_log"
    return max((int(commit.stem) for commit in log.glob("*.json") if commit.stem.isdigit()), default=0)


def _counted(warehouse: Path | str, watermark: int | None) -> Counter[Cell]:
    """Adds up the fired windows, and the committed panes of the others."""
    cells: Counter[Cell] = Counter()
    committed = {row["batch"] for row in rows(warehouse, "ledger")}
    fired = set()
    for (user, start, end), (views, clicks, _) in page_views(warehouse).items():
        assert watermark is not None
        assert end <= watermark
        fired.add(start)
        cells.update({(user, start, "page_views"): views, (user, start, "clicks"): clicks})
    for row in rows(warehouse, "panes"):
        if row["report"] == "page_views" and row["pane_start"] not in fired and row["batch"] in committed:
            for name in _EVENT_TYPES.values():
                cells[row["user_id"], row["pane_start"], name] += row[name]
    return +cells


def _cells_of(counts: pa.Table) -> Counter[Cell]:
    cells: Counter[Cell] = Counter()
    for row in counts.to_pylist():
        for name in _EVENT_TYPES.values():
            cells[row["user_id"], row["window_start"], name] += row[name]
    return +cells


def _cell_of(value: bytes, window_ms: int) -> Cell:
    event = decode(value)
    assert event is not None, "a late event must be readable"
    start = event["event_time"] // window_ms * window_ms
    return event["user_id"], start, _EVENT_TYPES[event["event_type"]]
