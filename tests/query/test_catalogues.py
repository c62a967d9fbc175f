"""The recipe of docs/queries.md: an Iceberg table with the files of a Delta table, read by another engine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from duckdb_extensions import import_extension

from tests.query.page import block_of
from tests.support.warehouse import rows
from tests.verify.site import PAGE_VIEWS_ALONE, Event, Site

pytestmark = pytest.mark.slow


@pytest.fixture
def iceberg(tmp_path: Path) -> duckdb.DuckDBPyConnection:
    """Returns DuckDB with its reader of Iceberg."""
    connection = duckdb.connect(config={"extension_directory": str(tmp_path / "extensions")})
    for name in ("avro", "iceberg"):
        import_extension(name, con=connection)
        connection.load_extension(name)
    return connection


def test_an_iceberg_table_follows_a_report(tmp_path: Path, iceberg: duckdb.DuckDBPyConnection) -> None:
    folder, warehouse = tmp_path / "iceberg", tmp_path / "warehouse"
    folder.mkdir()
    names: dict[str, Any] = {"warehouse": str(warehouse), "folder": str(folder)}
    exec(block_of("Iceberg"), names)  # noqa: S102 - it is our own page
    synchronise: Callable[[str], str] = names["synchronise"]
    site = Site(warehouse, PAGE_VIEWS_ALONE).open()
    for events in ([Event(1), Event(3, "bob")], [Event(12)], [Event(8.5, "bob")], [Event(31), Event(31, "bob")]):
        site.batch(*events)
        metadata = synchronise("page_views")
        found = iceberg.execute(f"FROM iceberg_scan('{metadata}')").to_arrow_table().to_pylist()
        assert sorted(found, key=str) == sorted(rows(warehouse, "page_views"), key=str)
    assert len(rows(warehouse, "page_views")) == 3
