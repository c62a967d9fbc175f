"""Invariant 8: where events are deduplicated, no event is counted twice while its id is remembered."""

from typing import Final

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.tables.schemas import EVENT_IDS
from tidemark.pipeline.verifier import queries
from tidemark.pipeline.verifier.verification import Finding
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_COMMITTED_SQL: Final = "(SELECT * FROM event_ids WHERE batch IN (SELECT batch FROM ledger)) AS ids"
_TOO_MANY_IDS_SQL: Final = f"""
SELECT ids.batch, found, expected FROM (SELECT batch, count(*) AS found FROM {_COMMITTED_SQL} GROUP BY batch) AS ids
JOIN (SELECT batch, sum(counted) AS expected FROM ledger GROUP BY batch) AS sums ON ids.batch = sums.batch
WHERE found > expected ORDER BY ids.batch
"""
_UNEXPECTED_SQL: Final = """
SELECT batch, "partition", {duplicate} AS found FROM ledger WHERE epoch = {epoch} AND {duplicate} <> 0
ORDER BY batch, "partition"
"""


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Checks that epochs without deduplication have no duplicates, and that each remembered id was counted once."""
    for epoch, opening in tables.openings.items():
        if not opening.policy.deduplicate:
            finding.report_rows(
                tables.ask(_UNEXPECTED_SQL.format(epoch=epoch, duplicate=tables.ledger_column_sql("duplicate"))),
                "ledger: batch {batch}, partition {partition} has {found:count duplicate}, but its epoch does not "
                "deduplicate",
            )
    if EVENT_IDS.name not in tables.handles:
        finding.inapplicable = "no ids: deduplicate is off"
        return
    finding.count(queries.committed(tables, EVENT_IDS.name, finding), "event id")
    remembered = f"{_COMMITTED_SQL} WHERE event_time >= {_remembered_since(tables)}"
    batches = ", min(batch) AS first, max(batch) AS last"
    finding.report_rows(
        tables.ask(queries.repeated_sql(remembered, ("id_high", "id_low"), batches)),
        "event_ids: the event {id_high} {id_low} was counted {found} times, in batches {first} to {last}",
    )
    finding.report_rows(
        tables.ask(_TOO_MANY_IDS_SQL),
        "event_ids: batch {batch} has {found:count id}, but the ledger counted only {expected:count event}",
    )


def _remembered_since(tables: WarehouseSnapshot) -> int:
    """Returns the time in milliseconds from which on each event has a window that ends after it and has not closed.

    Older events may have such a window, too, depending on the kinds of windows.
    """
    openings = [opening for opening in tables.openings.values() if opening.policy.deduplicate]
    lateness = min((max(report.allowed_lateness_ms for report in each.policy.reports) for each in openings), default=0)
    # A reset lowers both.
    newest = [tables.openings[epoch] for epoch in sorted(tables.openings)][-1:]
    closed = max((time for opening in newest for time in opening.closed.values()), default=rules.NO_WATERMARK)
    watermark = tables.scalar(f"SELECT max(watermark) FROM ledger WHERE batch = {tables.newest}")
    return max(watermark - lateness, closed)
