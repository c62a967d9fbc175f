"""A start takes over every table: older processes can no longer write, and rows without a commit go.

epoch 1      batch 1   batch 2 (not committed) |
epoch 2                                        | opened
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Transaction

from tests.simulation.version_0_1_0 import refused_tables
from tests.simulation.version_0_1_0 import take_over as old_take_over
from tidemark.pipeline.errors import Replaced
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.count import Counts
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.results.result_table import Results
from tidemark.pipeline.tables import housekeeping
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.housekeeping import take_over
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, EVENT_IDS, PANES, USER_TOTALS, TableSpec, result_of
from tidemark.pipeline.tables.transactions import CLOSED_APP, DROPPED_APP

APPENDED = (PANES, DEAD_LETTERS, EVENT_IDS)
VIEWS = Report("page_views", Grid(60_000, 60_000), 0)
PAIRS = Report("pairs", Counts(2), 0)
FIRST, SECOND, NEXT_EPOCH = EPOCH + 1, EPOCH + 2, 2 * EPOCH


def row_of(spec: TableSpec, batch: int) -> pa.Table:
    values = {"batch": batch, "report": VIEWS.name, "pane_start": 0, "event_time": 0}
    return pa.Table.from_pylist([{name: values.get(name) for name in spec.schema.names}], spec.schema)


def batches(warehouse: str, spec: TableSpec) -> list[int]:
    return sorted(DeltaTable(spec.uri(warehouse)).to_pyarrow_table()["batch"].to_pylist())


def closed_until(warehouse: str, report: Report) -> int | None:
    return DeltaTable(result_of(report).uri(warehouse)).transaction_version(CLOSED_APP)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Tables in which epoch 1 wrote two batches, of which the second was not committed."""
    warehouse = str(tmp_path_factory.mktemp("template"))
    for spec in APPENDED:
        Handle.of(spec, warehouse)
        appender = Appender(spec, warehouse)
        appender.append(row_of(spec, FIRST), FIRST)
        appender.append(row_of(spec, SECOND), SECOND)
    for report in (VIEWS, PAIRS):
        spec = result_of(report)
        handle = Handle.of(spec, warehouse)
        assert handle.swap(spec.schema.empty_table(), by=FIRST, transactions=[Transaction(CLOSED_APP, 120_000)])
    Handle.of(USER_TOTALS, warehouse)
    return warehouse


@pytest.fixture
def warehouse(template: str, tmp_path: Path) -> str:
    """A copy of the tables."""
    return str(shutil.copytree(template, tmp_path / "warehouse"))


class TakenOver(NamedTuple):
    """Tables that epoch 2 has taken over, of which a test writes to its own alone."""

    warehouse: str
    appenders: dict[str, Appender]
    """Of epoch 1, opened before the start."""
    results: dict[str, Results]


PUBLISHED = (result_of(VIEWS), result_of(PAIRS), USER_TOTALS)


@pytest.fixture(scope="module")
def taken_over(template: str, tmp_path_factory: pytest.TempPathFactory) -> TakenOver:
    """A copy of the tables after a start."""
    warehouse = str(shutil.copytree(template, tmp_path_factory.mktemp("taken") / "warehouse"))
    appenders = {spec.name: Appender(spec, warehouse) for spec in APPENDED}
    results = {spec.name: Results(warehouse, spec) for spec in PUBLISHED}
    housekeeping.take_over(warehouse, [VIEWS, PAIRS], NEXT_EPOCH, None)
    return TakenOver(warehouse, appenders, results)


@pytest.mark.parametrize("spec", APPENDED, ids=lambda spec: str(spec.name))
def test_an_older_process_appends_nothing_even_if_it_opens_the_table_only_now(
    spec: TableSpec, taken_over: TakenOver
) -> None:
    warehouse = taken_over.warehouse
    for appender in (taken_over.appenders[spec.name], Appender(spec, warehouse)):
        with pytest.raises(Replaced, match="epoch 2"):
            appender.append(row_of(spec, SECOND), SECOND)
    Appender(spec, warehouse).append(row_of(spec, NEXT_EPOCH + 1), NEXT_EPOCH + 1)


@pytest.mark.parametrize("spec", PUBLISHED, ids=lambda spec: str(spec.name))
def test_an_older_process_publishes_nothing(spec: TableSpec, taken_over: TakenOver) -> None:
    warehouse = taken_over.warehouse
    for results in (taken_over.results[spec.name], Results(warehouse, spec)):
        with pytest.raises(Replaced, match="epoch 2"):
            results.close(SECOND, 0)
    Results(warehouse, spec).close(NEXT_EPOCH, 0)


def test_an_older_start_does_not_take_over_from_a_newer_start(warehouse: str) -> None:
    housekeeping.take_over(warehouse, [VIEWS], NEXT_EPOCH, None)
    with pytest.raises(Replaced):
        housekeeping.take_over(warehouse, [VIEWS], FIRST, None)


@pytest.mark.slow
@pytest.mark.parametrize("starts", [[old_take_over, take_over], [take_over, old_take_over]], ids=["after", "before"])
def test_of_a_service_of_version_0_1_0_and_a_service_of_this_version_only_the_newer_commits(
    starts: list[Callable[..., None]], warehouse: str
) -> None:
    first, second = starts
    first(warehouse, [VIEWS, PAIRS], NEXT_EPOCH, None)
    replaced = {spec.name: Appender(spec, warehouse) for spec in APPENDED}
    results = Results(warehouse, result_of(VIEWS))
    second(warehouse, [VIEWS, PAIRS], 3 * EPOCH, None)
    for spec in APPENDED:
        for appender in (replaced[spec.name], Appender(spec, warehouse)):
            with pytest.raises(Replaced, match="epoch 3"):
                appender.append(row_of(spec, NEXT_EPOCH + 1), NEXT_EPOCH + 1)
        Appender(spec, warehouse).append(row_of(spec, 3 * EPOCH + 1), 3 * EPOCH + 1)
    with pytest.raises(Replaced, match="epoch 3"):
        results.close(NEXT_EPOCH + 1, 0)
    with pytest.raises(Replaced):
        first(warehouse, [VIEWS, PAIRS], NEXT_EPOCH, None)
    assert [batches(warehouse, spec) for spec in APPENDED] == [[FIRST, SECOND, 3 * EPOCH + 1]] * 3


def test_version_0_1_0_takes_no_table_for_an_older_copy_that_this_version_has_taken_over(warehouse: str) -> None:
    old_take_over(warehouse, [VIEWS, PAIRS], NEXT_EPOCH)
    assert refused_tables(Path(warehouse), 3 * EPOCH + 1), "no later epoch has fenced any table"
    take_over(warehouse, [VIEWS, PAIRS], 3 * EPOCH, None)
    assert refused_tables(Path(warehouse), 3 * EPOCH + 1) == []


def test_a_reset_lowers_what_is_final_of_windows_that_end_by_time(warehouse: str) -> None:
    housekeeping.take_over(warehouse, [VIEWS, PAIRS], NEXT_EPOCH, None)
    assert closed_until(warehouse, VIEWS) == 120_000
    housekeeping.take_over(warehouse, [VIEWS, PAIRS], 3 * EPOCH, {VIEWS.name: 60_000, PAIRS.name: 60_000})
    assert (closed_until(warehouse, VIEWS), closed_until(warehouse, PAIRS)) == (60_000, 120_000)


@pytest.mark.slow
def test_rows_of_batches_that_were_never_committed_are_removed(warehouse: str) -> None:
    housekeeping.take_over(warehouse, [VIEWS, PAIRS], NEXT_EPOCH, None)
    for spec in APPENDED:
        Appender(spec, warehouse).append(row_of(spec, NEXT_EPOCH + 1), NEXT_EPOCH + 1)
    housekeeping.remove_uncommitted(warehouse, FIRST, NEXT_EPOCH)
    assert [batches(warehouse, spec) for spec in APPENDED] == [[FIRST, NEXT_EPOCH + 1]] * 3


def test_panes_of_some_reports_are_removed(warehouse: str) -> None:
    housekeeping.take_over(warehouse, [VIEWS, PAIRS], NEXT_EPOCH, None)
    housekeeping.remove_panes(warehouse, {PAIRS.name: 60_000}, NEXT_EPOCH)
    assert housekeeping.pane_starts(warehouse) == {VIEWS.name: {0}}
    housekeeping.remove_panes(warehouse, {VIEWS.name: 120_000}, NEXT_EPOCH)
    assert housekeeping.pane_starts(warehouse) == {}
    panes = DeltaTable(PANES.uri(warehouse))
    assert panes.transaction_version(f"{DROPPED_APP}{VIEWS.name}") == 120_000
