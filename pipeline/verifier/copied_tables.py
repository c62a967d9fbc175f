"""Invariant 10: all tables are of one time, so that no table comes from an older or newer copy than the ledger."""

from typing import Final

from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, EVENT_IDS, PANES
from tidemark.pipeline.tables.transactions import (
    COMPACTION_APP,
    CORRECTED_APP,
    FENCED_APP,
    FENCED_BY_0_1_0_APP,
    FORGOTTEN_APP,
    PUBLISHED_APP,
    WRITTEN_APP,
)
from tidemark.pipeline.verifier.published_results import published_results
from tidemark.pipeline.verifier.verification import Finding
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_REACHED: Final = (PUBLISHED_APP, FENCED_APP, COMPACTION_APP, FORGOTTEN_APP)
_WRITTEN: Final = {
    PANES.name: ("counted",),
    EVENT_IDS.name: ("counted",),
    DEAD_LETTERS.name: ("too_late", "future", "malformed", "partly_late", "erased"),
}
"""By table, the columns of the ledger that count the records with rows in it."""
_UNREAD_SQL: Final = """
SELECT corrections.topic, corrections."partition", max(corrections."offset") AS found, max(ends.expected) AS expected
FROM corrections
JOIN (SELECT topic, "partition", max(to_offset) AS expected FROM ledger GROUP BY topic, "partition") AS ends
  ON corrections.topic = ends.topic AND corrections."partition" = ends."partition"
WHERE corrections."offset" >= ends.expected GROUP BY corrections.topic, corrections."partition"
"""


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Checks that no table is ahead of the ledger, and that no table lacks rows of a batch in the ledger."""
    results = {result.name for result in published_results(tables) if result.is_configured}
    last_batch = tables.scalar(f"SELECT max(batch) FROM ledger WHERE batch % {EPOCH} <> 0")
    for name in (*_WRITTEN, *results):
        if name in tables.handles:
            finding.count(1, "table")
            _check_reached(tables, name, finding)
            _check_epoch(tables, name, last_batch, finding)
    for name, counts in _WRITTEN.items():
        _check_written(tables, name, " + ".join(map(tables.ledger_column_sql, counts)), finding)
    _check_corrections(tables, results, finding)


def _check_reached(tables: WarehouseSnapshot, name: str, finding: Finding) -> None:
    reached = max(tables.version(name, app) or 0 for app in _REACHED)
    if reached > tables.newest:
        finding.report(
            f"{name}: it is at batch {reached}, but the ledger ends with {tables.newest}: it is a newer copy"
        )


def _check_epoch(tables: WarehouseSnapshot, name: str, last: int, finding: Finding) -> None:
    """Checks that the table was taken over by the last epoch with a batch."""
    fence = max(tables.version(name, app) or 0 for app in (FENCED_APP, FENCED_BY_0_1_0_APP))
    if fence and fence // EPOCH < last // EPOCH:
        finding.report(
            f"{name}: it ends in epoch {fence // EPOCH}, but the ledger has batch {last}: it is an older copy"
        )


def _check_written(tables: WarehouseSnapshot, name: str, count_sql: str, finding: Finding) -> None:
    """Checks that the table recorded the last batch with rows of it, within the epoch that it recorded last."""
    written = tables.version(name, WRITTEN_APP)
    epoch = tables.openings.get((written or 0) // EPOCH)
    if written is None or epoch is None or (name == EVENT_IDS.name and not epoch.policy.deduplicate):
        return
    last = tables.scalar(
        f"SELECT max(batch) FROM ledger WHERE {count_sql} > 0 AND batch > {written} "
        f"AND batch < {(written // EPOCH + 1) * EPOCH}"
    )
    if last:
        finding.report(
            f"{name}: it ends with batch {written}, but the ledger has rows of it in {last}: it is an older copy"
        )


def _check_corrections(tables: WarehouseSnapshot, results: set[str], finding: Finding) -> None:
    is_present, decided = CORRECTIONS.name in tables.handles, tables.version(CORRECTIONS.name, CORRECTED_APP) or 0
    for name in sorted(results):
        added = tables.version(name, CORRECTED_APP) or 0
        if added > decided and (decided or not is_present):  # older versions did not record the last correction
            finding.report(
                f"{name}: it has correction {added}, but corrections ends with {decided}: it is a newer copy"
            )
    if is_present:
        _check_unread(tables, finding)


def _check_unread(tables: WarehouseSnapshot, finding: Finding) -> None:
    finding.report_rows(
        tables.ask(_UNREAD_SQL),
        "corrections: it has offset {found} of partition {partition} of {topic}, but the ledger ends at {expected}: it "
        "is a newer copy",
    )
