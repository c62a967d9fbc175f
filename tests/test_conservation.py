"""The conservation check itself: a sound warehouse passes, and each way to break a law is noticed."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipeline.tables.layout import create_tables
from pipeline.tables.schemas import DEAD_LETTERS, LEDGER, PAGE_VIEWS, PANES
from pipeline.time.grid import Grid
from pipeline.time.report import Report
from tests.conservation import Balance, assert_conserved

EPOCH = 10**9
MINUTE = 60_000
Tables = dict[str, list[dict[str, Any]]]
Make = Callable[[Tables], Path]
SPECS = {spec.name: spec for spec in (LEDGER, PANES, PAGE_VIEWS, DEAD_LETTERS)}


def sound() -> Tables:
    """Two batches on one partition: a window that has fired, one that has not, a dead letter and a gap."""
    return {
        "ledger": [
            ledger_row(batch=EPOCH, to_offset=0),
            ledger_row(batch=EPOCH + 1, to_offset=3, records=3, counted=3, watermark=MINUTE),
            ledger_row(
                batch=EPOCH + 2, from_offset=3, to_offset=6, records=2, counted=1, too_late=1, gap=1,
                watermark_before=MINUTE, watermark=MINUTE,
            ),
        ],
        "panes": [
            pane(batch=EPOCH + 1, page_views=2, clicks=1),
            pane(batch=EPOCH + 2, pane_start=MINUTE),
            pane(batch=EPOCH + 3, page_views=7),  # void
        ],
        "page_views": [shown()],
        "dead_letters": [dead_letter(offset=4)],
    }  # fmt: skip


def ledger_row(**told: Any) -> dict[str, Any]:
    zero = dict.fromkeys(
        ["from_offset", "records", "counted", "partly_late", "too_late", "future", "malformed", "gap"], 0
    )
    fixed = {"epoch": 1, "topic": "t", "partition": 0, "committed_at": 0}
    return {**zero, **fixed, "max_event_time": None, "watermark_before": None, "watermark": None, **told}


def pane(**told: Any) -> dict[str, Any]:
    fixed = {"report": "page_views", "pane_start": 0, "user_id": "ann", "late_events": 0, "watermark": 0}
    return {**dict.fromkeys(PANES.schema.names), **fixed, "page_views": 1, "clicks": 0, **told}


def shown(**told: Any) -> dict[str, Any]:
    window = {"window_start": at(0), "window_end": at(MINUTE), "user_id": "ann"}
    return {**window, "page_views": 2, "clicks": 1, "late_events": 0, "published_batch": EPOCH + 1, **told}


def dead_letter(**told: Any) -> dict[str, Any]:
    where = {"reason": "too_late", "topic": "t", "partition": 0, "batch": EPOCH + 2}
    return {**dict.fromkeys(DEAD_LETTERS.schema.names), **where, **told}


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


@pytest.fixture(scope="module")
def sound_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sound tables, to be copied."""
    warehouse = tmp_path_factory.mktemp("sound")
    create_tables(str(warehouse), [Report("page_views", Grid(MINUTE, MINUTE), 0)])
    for name, found in sound().items():
        write(warehouse, name, found)
    return warehouse


@pytest.fixture
def written(sound_warehouse: Path, tmp_path: Path) -> Make:
    """Makes a warehouse of tables that are sound but for some."""

    def make(tables: Tables) -> Path:
        shutil.copytree(sound_warehouse, tmp_path, dirs_exist_ok=True)
        for name, found in tables.items():
            if found != sound()[name]:
                write(tmp_path, name, found)
        return tmp_path

    return make


def write(warehouse: Path, name: str, found: list[dict[str, Any]]) -> None:
    spec = SPECS[name]
    write_deltalake(spec.uri(str(warehouse)), pa.Table.from_pylist(found, schema=spec.schema), mode="overwrite")


def test_a_sound_warehouse_is_conserved_and_its_sums_are_told(sound_warehouse: Path) -> None:
    balance = assert_conserved(sound_warehouse)
    assert balance == Balance(records=5, counted=4, too_late=1, future=0, malformed=0, gap=1, watermark=MINUTE)


def test_a_closed_windows_panes_may_be_swept(written: Make) -> None:
    tables = sound()
    del tables["panes"][0]
    assert assert_conserved(written(tables)).counted == 4


SECOND_END = at(2 * MINUTE)
BREAKS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "a record has no verdict": ("ledger", 1, {"records": 4, "to_offset": 4}),
    "an offset is unaccounted for": ("ledger", 2, {"gap": 0}),
    "a batch overlaps the one before": ("ledger", 2, {"from_offset": 2, "gap": 2}),
    "the watermark goes back": ("ledger", 2, {"watermark": MINUTE - 1}),
    "a batch begins at another watermark": ("ledger", 2, {"watermark_before": MINUTE - 1}),
    "a batch is in another's epoch": ("ledger", 2, {"epoch": 2}),
    "a batch is there twice": ("ledger", 2, {"batch": EPOCH + 1}),
    "a dead letter has another reason": ("dead_letters", 0, {"reason": "future"}),
    "a dead letter is of a void batch": ("dead_letters", 0, {"batch": EPOCH + 3}),
    "a dead letter was never read": ("dead_letters", 0, {"offset": 6}),
    "a published count is too high": ("page_views", 0, {"page_views": 3}),
    "a published count is another user's": ("page_views", 0, {"user_id": "bob"}),
    "a window is shown that has not fired": (
        "page_views",
        0,
        {"window_start": at(MINUTE), "window_end": SECOND_END},
    ),
    "a window has another size": ("page_views", 0, {"window_end": at(MINUTE // 2)}),
    "more is late than counted": ("page_views", 0, {"late_events": 4}),
    "a waiting pane counts too much": ("panes", 1, {"clicks": 1}),
    "a waiting pane is void": ("panes", 1, {"batch": EPOCH + 3}),
}


@pytest.mark.parametrize("name", BREAKS)
def test_each_broken_law_is_noticed(name: str, written: Make) -> None:
    tables, (table, index, change) = sound(), BREAKS[name]
    tables[table][index] |= change
    with pytest.raises(AssertionError):
        assert_conserved(written(tables))


@pytest.mark.parametrize("table", ["page_views", "dead_letters"])
def test_a_row_that_is_there_twice_is_noticed(table: str, written: Make) -> None:
    tables = sound()
    tables[table] *= 2
    with pytest.raises(AssertionError, match="is there twice"):
        assert_conserved(written(tables))


@pytest.mark.parametrize("table", ["page_views", "dead_letters"])
def test_a_row_that_is_missing_is_noticed(table: str, written: Make) -> None:
    tables = sound()
    tables[table] = []
    with pytest.raises(AssertionError):
        assert_conserved(written(tables))
