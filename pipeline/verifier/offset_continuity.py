"""Invariant 2: offsets of a partition have no gaps and no overlaps, from batch to batch and from epoch to epoch."""

from typing import Final

from tidemark.pipeline.verifier.verification import Finding
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_NOT_CONTIGUOUS_SQL: Final = """
SELECT * FROM (
  SELECT topic, "partition", batch, from_offset AS found,
    lag(to_offset) OVER (PARTITION BY topic, "partition" ORDER BY batch) AS expected,
    lag(batch) OVER (PARTITION BY topic, "partition" ORDER BY batch) AS before
  FROM ledger
) AS steps WHERE before IS NOT NULL AND (found IS DISTINCT FROM expected) ORDER BY batch, "partition"
"""
# The next row of a partition must be in the next batch: batches are numbered by their order in the ledger.
_MISSING_SQL: Final = """
WITH numbered AS (
  SELECT batch, row_number() OVER (ORDER BY batch) AS position FROM (SELECT DISTINCT batch FROM ledger) AS batches
), present AS (
  SELECT DISTINCT topic, "partition", numbered.batch, position
  FROM ledger JOIN numbered ON ledger.batch = numbered.batch
), steps AS (
  SELECT topic, "partition", batch, position,
    lead(position) OVER (PARTITION BY topic, "partition" ORDER BY position) AS next
  FROM present
)
SELECT topic, "partition", steps.batch, absent.batch AS absent FROM steps
JOIN numbered AS absent ON absent.position = steps.position + 1
WHERE next IS DISTINCT FROM steps.position + 1 ORDER BY 3, 2
"""
_PARTITIONS_SQL: Final = 'SELECT count(*) FROM (SELECT DISTINCT topic, "partition" FROM ledger) AS partitions'


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Checks that each batch starts where the batch before ended, and that later batches have each known partition."""
    finding.count(tables.scalar(_PARTITIONS_SQL), "partition")
    finding.count(tables.scalar("SELECT count(*) FROM ledger"), "step")
    finding.report_rows(
        tables.ask(_NOT_CONTIGUOUS_SQL),
        "ledger: batch {batch}, partition {partition} of {topic} begins at offset {found}, but batch {before} "
        "ended at {expected}",
    )
    finding.report_rows(
        tables.ask(_MISSING_SQL),
        "ledger: partition {partition} of {topic} is in batch {batch}, but not in the next one, {absent}",
    )
