"""What was erased and when, without whom: the table `erasures`."""

from collections.abc import Mapping

import pyarrow as pa
from deltalake import DeltaTable

from pipeline.amend.erase.person_tables import Site
from pipeline.instants import now_ms
from pipeline.tables.handle import Handle
from pipeline.tables.query import rows_of
from pipeline.tables.schemas import ERASURES, PANES
from pipeline.tables.transactions import ERASED_EVENTS_APP


def write_down(site: Site, rows: Mapping[str, int]) -> dict[str, int]:
    """Adds a row for each table that lost anything; returns by report the events that are told so for the first time.

    Events are those that the panes have on record and no row tells yet, also of a run that was killed.
    """
    handle = Handle.of(ERASURES, site.warehouse)
    while True:
        events = _untold(site, handle.table)
        number = (rows_of("SELECT max(erasure) AS last FROM it", it=handle.table)[0]["last"] or 0) + 1
        fixed = {"erasure": number, "erased_at": now_ms()}
        told = [
            {**fixed, "table": name, "rows": rows.get(name, 0), "events": events.get(name)}
            for name in sorted({*rows, *events})
        ]
        if not told or handle.swap(pa.Table.from_pylist(told, schema=ERASURES.schema), by=None):
            return events


def _untold(site: Site, table: DeltaTable) -> dict[str, int]:
    panes = DeltaTable(PANES.uri(site.warehouse))
    sums = rows_of('SELECT "table" AS name, sum(events) AS events FROM it GROUP BY "table"', it=table)
    told = {row["name"]: row["events"] or 0 for row in sums}
    erased = {name: panes.transaction_version(f"{ERASED_EVENTS_APP}{name}") or 0 for name in site.personal}
    left = {name: number - told.get(name, 0) for name, number in erased.items()}
    return {name: number for name, number in left.items() if number}
