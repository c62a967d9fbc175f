"""A publication is planned from one version of a table, lands once, and is refused once a newer service has started."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tidemark.pipeline.errors import Replaced
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.firing import WindowsDue
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.instants import moment
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.results.result_kind import SourceTables
from tidemark.pipeline.results.result_table import PublicationPlan, ResultChunk, Results, panes_sql
from tidemark.pipeline.tables import housekeeping
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.query import query
from tidemark.pipeline.tables.schemas import PANES, result_of

MINUTE = 60_000
VIEWS = Report("page_views", Grid(MINUTE, MINUTE), 0)
SPEC = result_of(VIEWS)
BATCH = EPOCH + 1


class Kind:
    """A kind whose plans have a window of minute 0 and one of minute 1, each a chunk, with the rows that it found."""

    name, spec = VIEWS.name, SPEC

    def __init__(self) -> None:
        self.plans = 0
        self.meanwhile: list[Any] = []
        """Functions that are called between the chunks of a plan, one for each plan."""

    def plan(self, _: object, batch: int, tables: SourceTables) -> PublicationPlan:
        """Returns the plan, whose rows contain the version of the table that it was made from."""
        self.plans += 1
        return PublicationPlan(self._chunks(batch, tables.results.version()))

    def _chunks(self, batch: int, version: int) -> Iterator[ResultChunk]:
        yield ResultChunk(window(0, version, batch), f"window_end <= '{moment(MINUTE).isoformat()}'")
        if self.meanwhile:
            self.meanwhile.pop(0)()
        yield ResultChunk(window(1, version, batch), f"window_end > '{moment(MINUTE).isoformat()}'", is_last=True)


def window(minute: int, views: int, batch: int) -> pa.Table:
    bounds = {"window_start": moment(minute * MINUTE), "window_end": moment((minute + 1) * MINUTE)}
    counts = {"page_views": views, "clicks": 0, "late_events": 0, "published_batch": batch}
    return pa.Table.from_pylist([{"user_id": "ann", **bounds, **counts}], SPEC.schema)


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    for spec in (PANES, SPEC):
        Handle.of(spec, str(tmp_path))
    return str(tmp_path)


@pytest.fixture
def kind() -> Kind:
    return Kind()


def publish(warehouse: str, kind: Any, batch: int = BATCH) -> None:
    Publication(warehouse, [kind]).publish({VIEWS.name: WindowsDue(closed_until=MINUTE)}, batch)


def views(warehouse: str) -> list[int]:
    found: list[int] = DeltaTable(SPEC.uri(warehouse)).to_pyarrow_table()["page_views"].to_pylist()
    return found


def test_a_table_that_has_a_publication_does_not_take_it_again(warehouse: str, kind: Kind) -> None:
    for _ in range(2):
        publish(warehouse, kind)
    assert (kind.plans, len(views(warehouse))) == (1, 2)


def test_a_replaced_service_does_not_take_a_newer_publication_for_its_own(warehouse: str, kind: Kind) -> None:
    housekeeping.take_over(warehouse, [VIEWS], 2 * EPOCH, None)
    publish(warehouse, kind, 2 * EPOCH)
    with pytest.raises(Replaced):
        publish(warehouse, kind, BATCH)


def test_all_chunks_are_made_again_if_another_commit_comes_between_them(warehouse: str, kind: Kind) -> None:
    kind.meanwhile = [lambda: Handle(SPEC.uri(warehouse)).swap(SPEC.schema.empty_table(), by=None)]
    publish(warehouse, kind)
    first, second = views(warehouse)
    assert (kind.plans, first) == (2, second)


def test_all_chunks_are_made_again_if_another_commit_comes_before_the_first(warehouse: str, kind: Kind) -> None:
    publication = Publication(warehouse, [kind])  # type: ignore[list-item]
    assert Handle(SPEC.uri(warehouse)).swap(window(0, 99, BATCH), by=None)
    publication.publish({VIEWS.name: WindowsDue(closed_until=MINUTE)}, BATCH)
    first, second = views(warehouse)
    assert (kind.plans, first) == (2, second)


def test_what_is_final_stays_final(warehouse: str) -> None:
    results = Results(warehouse, SPEC)
    results.close(BATCH, 2 * MINUTE)
    results.close(BATCH + 1, MINUTE)
    assert results.published.closed_until == 2 * MINUTE


def test_a_publication_reads_panes_of_its_report_up_to_its_batch(warehouse: str) -> None:
    appender = Appender(PANES, warehouse)
    for batch in (BATCH, BATCH + 1):
        for report in (VIEWS.name, "other"):
            row = {"batch": batch, "report": report, "pane_start": 0}
            rows = pa.Table.from_pylist([{name: row.get(name) for name in PANES.schema.names}], PANES.schema)
            appender.append(rows, batch)
    found = query(panes_sql(VIEWS, BATCH), panes=DeltaTable(PANES.uri(warehouse)))
    assert [*zip(*(found[name].to_pylist() for name in ("report", "batch")), strict=True)] == [(VIEWS.name, BATCH)]
