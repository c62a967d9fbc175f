"""Compares the live view of each report with the reference model: which windows are open, and their sums so far."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from tests.simulation.judge import differences, milliseconds
from tests.simulation.model import Expected, Key
from tidemark.pipeline.reading.sql_views import live_view_sql
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.query import query
from tidemark.pipeline.tables.schemas import CORRECTIONS, LEDGER, PANES, find_table

LIVE: Final = "live "
"""Findings on views begin with it: `tidemark verify` reads tables alone."""


def live_findings(warehouse: str, expected: Expected, removed: Mapping[str, int]) -> Iterator[str]:
    """Live views equal the model's, also right after a reset; `removed` is how far retention went, by table."""
    for name, wanted in expected.live.items():
        until = removed.get(name, 0)
        found = Counter(row for row in live_rows(warehouse, name) if row[0] not in expected.but)
        kept = (Counter({key: n for key, n in rows.items() if not until or key[2] > until}) for rows in (wanted, found))
        yield from differences(f"{LIVE}{name}", *kept)


def live_rows(warehouse: str, name: str) -> Iterator[Key]:
    """Yields user, window, page views and state of each row; a window with corrections is closed."""
    tables = {table: find_table(table, warehouse) for table in (LEDGER.name, PANES.name, name, CORRECTIONS.name)}
    sql = live_view_sql(warehouse, name, Engine.DELTA_RS)
    for row in query(sql, **{table: handle for table, handle in tables.items() if handle}).to_pylist():
        window = row["user_id"], milliseconds(row["window_start"]), milliseconds(row["window_end"])
        yield (*window, row["page_views"], row["state"].replace("corrected", "closed"))
