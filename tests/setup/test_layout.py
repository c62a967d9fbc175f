"""Reports that come, change or go in the settings of a warehouse that exists."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tests.support.policies import policy_of
from tests.support.warehouse import rows
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.field_measures import FieldMeasure, Function
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.count import SlidingCounts
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.results.layout import check_results, create_tables, stored_report
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.schemas import PANES

USERS = Report("users", Grid(60_000, 60_000), 10_000)
DAYS = Report("days", Calendar(86_400_000, "Europe/Berlin"), 0, (), "event_type = 'click'")


MINUTES = "windows grid size 1m slide 1m"


PAID = FieldMeasure("paid", Function.SUM, "price", digits=2)


@pytest.mark.parametrize(
    ("changed", "before", "after"),
    [
        (
            replace(USERS, windows=Grid(30_000, 30_000)),
            MINUTES,
            "windows grid size 30s slide 30s",
        ),
        (replace(USERS, windows=Sessions(60_000)), MINUTES, "windows sessions gap 1m"),
        (replace(USERS, windows=SlidingCounts(5, 2)), MINUTES, "windows sliding_counts size 5 slide 2"),
        (replace(USERS, where="event_type = 'click'"), "where empty", "where event_type = 'click'"),
        (replace(USERS, keys=("page_url",)), "keys user_id", "keys page_url"),
        (
            replace(USERS, measures=("page_views", "unique_users")),
            "measures page_views, clicks",
            "measures page_views, unique_users",
        ),
        (
            replace(USERS, measures=("clicks", "paid"), field_measures=(PAID,)),
            "measures page_views, clicks and field_measures empty",
            "measures clicks, paid and field_measures paid function sum path price digits 2",
        ),
    ],
)
def test_a_report_that_changed_is_refused_in_one_sentence(
    tmp_path: Path, changed: Report, before: str, after: str
) -> None:
    create_tables(str(tmp_path), policy_of(USERS))
    sentence = f"report users in the warehouse .* was made with {before}, but the settings say {after}. Set it back"
    with pytest.raises(SetUpError, match=sentence):
        check_results(str(tmp_path), policy_of(changed))


def test_a_measure_of_a_field_that_changed_is_refused_in_one_sentence(tmp_path: Path) -> None:
    sales = replace(USERS, measures=("paid",), field_measures=(PAID,))
    create_tables(str(tmp_path), policy_of(sales))
    check_results(str(tmp_path), policy_of(sales))
    exact = replace(sales, field_measures=(replace(PAID, digits=3),))
    with pytest.raises(
        SetUpError, match=r"field_measures paid .* digits 2, but the settings say field_measures paid .* 3"
    ):
        check_results(str(tmp_path), policy_of(exact))


def test_the_allowed_lateness_may_change(tmp_path: Path) -> None:
    create_tables(str(tmp_path), policy_of(USERS))
    later = replace(USERS, allowed_lateness_ms=99)
    check_results(str(tmp_path), policy_of(later))
    create_tables(str(tmp_path), policy_of(later))
    assert stored_report("users", str(tmp_path)) == later


def test_panes_from_before_a_measure_get_its_columns(tmp_path: Path) -> None:
    earlier = pa.schema([one for one in PANES.schema if one.name != "last_page"])
    DeltaTable.create(PANES.uri(str(tmp_path)), earlier, partition_by=list(PANES.partition_by))
    create_tables(str(tmp_path), policy_of(USERS))
    row = pa.Table.from_pylist([{"batch": 1, "report": "users", "last_page": "0 /"}], schema=PANES.schema)
    Appender(PANES, str(tmp_path)).append(row, 1)
    assert rows(tmp_path, "panes")[0]["last_page"] == "0 /"


def test_a_table_stores_its_report(tmp_path: Path) -> None:
    create_tables(str(tmp_path), policy_of(USERS, DAYS))
    assert [stored_report(name, str(tmp_path)) for name in ("users", "days")] == [USERS, DAYS]
