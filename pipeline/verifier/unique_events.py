"""Law 8: where events are deduplicated, none is counted twice while its id is remembered."""

from typing import Final

from pipeline.event_time import rules
from pipeline.tables.schemas import EVENT_IDS
from pipeline.verifier import queries
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_COMMITTED: Final = "(SELECT * FROM event_ids WHERE batch IN (SELECT batch FROM ledger)) AS ids"
_MORE: Final = f"""
SELECT known.batch, found, wanted FROM (SELECT batch, count(*) AS found FROM {_COMMITTED} GROUP BY batch) AS known
JOIN (SELECT batch, sum(counted) AS wanted FROM ledger GROUP BY batch) AS told ON known.batch = told.batch
WHERE found > wanted ORDER BY known.batch
"""
_UNASKED: Final = """
SELECT batch, "partition", {duplicate} AS found FROM ledger WHERE epoch = {epoch} AND {duplicate} <> 0
ORDER BY batch, "partition"
"""


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """No duplicate where none is looked for; and each id once, of an event that is in the ledger."""
    for epoch, opening in tables.openings.items():
        if not opening.policy.deduplicate:
            finding.each(
                tables.ask(_UNASKED.format(epoch=epoch, duplicate=tables.of_ledger("duplicate"))),
                "ledger: batch {batch}, partition {partition} has {found} duplicates, but its epoch looks for none",
            )
    if EVENT_IDS.name not in tables.handles:
        return
    finding.look(queries.committed(tables, EVENT_IDS.name, finding), "event ids")
    remembered = f"{_COMMITTED} WHERE event_time >= {_remembered_since(tables)}"
    finding.each(
        tables.ask(queries.twice(remembered, ("id_high", "id_low"), ", min(batch) AS first, max(batch) AS last")),
        "event_ids: the event {id_high} {id_low} was counted {found} times, in batches {first} to {last}",
    )
    finding.each(
        tables.ask(_MORE), "event_ids: batch {batch} has {found} ids, but the ledger only {wanted} counted events"
    )


def _remembered_since(tables: WarehouseSnapshot) -> int:
    """Events from this time on were in time all along: each has a window that ends after it and has not closed.

    Older ones may have been, too; which of them depends on the kinds of windows.
    """
    openings = [one for one in tables.openings.values() if one.policy.deduplicate]
    lateness = min((max(report.allowed_lateness_ms for report in one.policy.reports) for one in openings), default=0)
    closed = max((time for one in openings for time in one.closed.values()), default=rules.NO_WATERMARK)
    return max(tables.number("SELECT max(watermark) FROM ledger") - lateness, closed)
