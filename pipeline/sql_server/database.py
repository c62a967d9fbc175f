"""The views of a warehouse in a DuckDB without access to anything else.

delta-rs reads the tables for DuckDB, which therefore needs no files, network or extensions, and has no access to them.
Its settings are locked, so that no statement of a client can enable access.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from threading import Lock
from typing import Final

import duckdb
from deltalake import DeltaTable

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.reading.bounded_lock import acquired
from tidemark.pipeline.reading.sql_views import text_sql, views
from tidemark.pipeline.sql_server.catalog import CATALOG
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.ledger import require_warehouse

_CLOSED: Final = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
}
_NEW_TABLES_S: Final = 60.0
_NEW_ROWS_S: Final = 1.0
_PATIENCE_S: Final = 5.0
_SCAN: Final = re.compile(r"delta_scan\('([^']*)'\)")
DATABASE_NAME: Final = "tidemark"
"""Name of the database with the views. The tables that they read are in `stored`, which no client can name."""


class Database:
    """The engine with its views, which are recreated after changes of the tables. Thread-safe."""

    def __init__(self, warehouse: str, memory: str) -> None:
        """Queries take at most `memory`, such as `2g`. Raises SetUpError if there is no warehouse."""
        require_warehouse(warehouse)  # before the engine, whose start takes longer
        self._warehouse = warehouse
        self._lock = Lock()
        self._tables: dict[str, DeltaTable] = {}
        self._views_at = self._rows_at = float("-inf")
        self.views: frozenset[str] = frozenset()
        self._engine = _engine(memory)
        self.refresh()
        # Last, because attaching a database in memory needs external access.
        self._engine.execute("SET enable_external_access = false")
        self._engine.execute("SET allowed_configs = ['TimeZone']")
        self._engine.execute("SET lock_configuration = true")

    def refresh(self) -> None:
        """Reads new rows at most once a second and new tables at most once a minute. Called before each statement.

        Raises TransientError while another client waits for the store.
        """
        with acquired(self._lock, _PATIENCE_S):
            now = time.monotonic()
            if now - self._views_at >= _NEW_TABLES_S:
                self._make_views()
                self._views_at = self._rows_at = now
            elif now - self._rows_at >= _NEW_ROWS_S:
                for name, table in self._tables.items():
                    version = table.version()
                    table.update_incremental()
                    if table.version() != version:
                        self._store(name, table)
                self._rows_at = now

    def cursor(self, settings: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
        """Returns a connection for one statement of a client with these `settings`, among them `TimeZone`."""
        cursor = self._engine.cursor()
        cursor.execute(f"USE {DATABASE_NAME}")
        cursor.execute(f"SET TimeZone = {text_sql(settings['TimeZone'])}")
        entries = (f"{text_sql(name.lower())}: {text_sql(value)}" for name, value in settings.items())
        cursor.execute(f"SET VARIABLE settings = MAP {{{', '.join(entries)}}}")
        return cursor

    def columns(self, cursor: duckdb.DuckDBPyConnection) -> dict[str, str]:
        """Returns the types of the views' columns by name; a name has one type in all views."""
        named = "SELECT lower(column_name), min(data_type) FROM duckdb_columns() WHERE database_name = ? GROUP BY 1"
        return dict(cursor.execute(named, [DATABASE_NAME]).fetchall())

    def _make_views(self) -> None:
        current = views(self._warehouse, Engine.DUCKDB)
        for view in current:
            for statement in replace(view, query=_SCAN.sub(self._stored, view.query)).statements(Engine.DUCKDB):
                self._engine.execute(statement)
        self.views = frozenset(view.name for view in current)

    def _stored(self, scan: re.Match[str]) -> str:
        """Returns the relation for a scan of a table, with the name of its folder."""
        name = scan[1].rstrip("/").rpartition("/")[2]
        if name not in self._tables:
            self._tables[name] = DeltaTable(scan[1])
            self._store(name, self._tables[name])
        return f'stored.main."{name}"'

    def _store(self, name: str, table: DeltaTable) -> None:
        self._engine.execute("USE stored")
        try:
            self._engine.from_arrow(table.to_pyarrow_dataset()).create_view(name, replace=True)
        finally:
            self._engine.execute(f"USE {DATABASE_NAME}")


def _engine(memory: str) -> duckdb.DuckDBPyConnection:
    try:
        engine = duckdb.connect(":memory:", config={**_CLOSED, "memory_limit": memory})
    except duckdb.Error as error:
        raise SetUpError(f"--memory {memory}: {error}") from error
    engine.execute("SET TimeZone = 'UTC'")
    for name in ("stored", DATABASE_NAME):
        engine.execute(f"ATTACH ':memory:' AS {name}")
    engine.execute(f"USE {DATABASE_NAME}")
    for statement in CATALOG:
        engine.execute(statement)
    return engine
