"""Every table and column says what it is, in the table itself and on a page."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from dev.tables_page import PAGE, page
from tests.support.policies import policy_of
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.measures import MEASURES
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.tables.dictionary import COMMENT
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.schemas import (
    CORRECTIONS,
    DEAD_LETTERS,
    ERASED_USERS,
    ERASURES,
    LEDGER,
    PANES,
    USER_TOTALS,
    TableSpec,
    result_of,
)

EVERYTHING = Report("everything", Grid(1, 1), 0, ("user_id", "page_url", "event_type"), measures=tuple(MEASURES))
FIXED = (LEDGER, PANES, DEAD_LETTERS, CORRECTIONS)
SPECS = (*FIXED, ERASURES, ERASED_USERS, USER_TOTALS, result_of(EVERYTHING))


def comments(spec: TableSpec, warehouse: Path) -> dict[str, str]:
    fields = DeltaTable(spec.uri(str(warehouse))).schema().fields
    return {field.name: field.metadata.get(COMMENT, "") for field in fields}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_table_says_what_it_is(tmp_path: Path, spec: TableSpec) -> None:
    made = Handle.of(spec, str(tmp_path)).table
    assert made.metadata().description == spec.about.description
    assert comments(spec, tmp_path) == {name: spec.about.columns[name] for name in spec.schema.names}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_only_existing_columns_are_documented(spec: TableSpec) -> None:
    assert set(spec.about.key) <= set(spec.schema.names)
    assert set(spec.schema.names) == set(spec.about.columns)


@pytest.mark.slow
def test_tables_of_earlier_versions_get_their_comments_once(tmp_path: Path) -> None:
    warehouse, policy = str(tmp_path), policy_of(EVERYTHING)
    for spec in FIXED:
        bare = pa.schema([field.remove_metadata() for field in spec.schema])
        DeltaTable.create(spec.uri(warehouse), bare, partition_by=list(spec.partition_by))
    create_tables(warehouse, policy)
    for spec in FIXED:
        assert comments(spec, tmp_path) == {name: spec.about.columns[name] for name in spec.schema.names}
    versions = [DeltaTable(spec.uri(warehouse)).version() for spec in FIXED]
    create_tables(warehouse, policy)
    assert [DeltaTable(spec.uri(warehouse)).version() for spec in FIXED] == versions


def test_the_page_says_what_the_tables_say() -> None:
    assert PAGE.read_text() == page(), "make pages"
