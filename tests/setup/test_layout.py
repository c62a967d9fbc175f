"""Reports that come, change or go in the settings of a warehouse that exists."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pipeline.errors import SetUpError
from pipeline.tables.layout import create_tables, made_as
from pipeline.tables.schemas import PANES
from pipeline.time.calendar import Calendar
from pipeline.time.grid import Grid
from pipeline.time.report import Report
from pipeline.time.sessions import Sessions

USERS = Report("users", Grid(60_000, 60_000), 10_000)
DAYS = Report("days", Calendar(86_400_000, "Europe/Berlin"), 0, (), "event_type = 'click'")


def with_panes(warehouse: Path, *names: str) -> None:
    rows = [{**dict.fromkeys(PANES.schema.names), "report": name, "pane_start": 0, "batch": 1} for name in names]
    write_deltalake(PANES.uri(str(warehouse)), pa.Table.from_pylist(rows, schema=PANES.schema), mode="append")


def test_a_new_warehouse_has_nothing_to_tell(tmp_path: Path) -> None:
    assert create_tables(str(tmp_path), [USERS, DAYS]) == []
    assert create_tables(str(tmp_path), [USERS, DAYS]) == []


def test_a_report_that_is_new_is_told_once(tmp_path: Path) -> None:
    create_tables(str(tmp_path), [USERS])
    (sentence,) = create_tables(str(tmp_path), [USERS, DAYS])
    assert sentence == "report days is new: it has the events from here on, not those before"
    assert create_tables(str(tmp_path), [USERS, DAYS]) == []


def test_the_panes_of_a_report_that_is_gone_go_and_its_table_stays(tmp_path: Path) -> None:
    create_tables(str(tmp_path), [USERS, DAYS])
    with_panes(tmp_path, "users", "days")
    (sentence,) = create_tables(str(tmp_path), [USERS])
    assert sentence == "report days is no longer configured: its table stays as it is, what it had open is dropped"
    assert DeltaTable(str(tmp_path / "panes")).to_pyarrow_table()["report"].to_pylist() == ["users"]
    assert DeltaTable.is_deltatable(str(tmp_path / "days"))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (replace(USERS, windows=Grid(30_000, 30_000)), "windows"),
        (replace(USERS, windows=Sessions(60_000)), "windows"),
        (replace(USERS, where="event_type = 'click'"), "where"),
        (replace(USERS, keys=("page_url",)), "keys"),
        (replace(USERS, measures=("page_views", "unique_users")), "measures"),
    ],
)
def test_a_report_that_changed_is_refused_in_one_sentence(tmp_path: Path, changed: Report, said: str) -> None:
    create_tables(str(tmp_path), [USERS])
    with pytest.raises(SetUpError, match=f"report users in the warehouse .* was made with {said} = .* another name"):
        create_tables(str(tmp_path), [changed])


def test_the_allowed_lateness_may_change(tmp_path: Path) -> None:
    create_tables(str(tmp_path), [USERS])
    later = replace(USERS, allowed_lateness_ms=99)
    assert create_tables(str(tmp_path), [later]) == []
    assert made_as("users", str(tmp_path)) == later


def test_a_table_tells_of_its_report(tmp_path: Path) -> None:
    create_tables(str(tmp_path), [USERS, DAYS])
    assert [made_as(name, str(tmp_path)) for name in ("users", "days")] == [USERS, DAYS]
