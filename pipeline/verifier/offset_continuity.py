"""Law 2: each partition is read without holes and overlaps, from batch to batch and from epoch to epoch."""

from typing import Final

from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_JOINS: Final = """
SELECT * FROM (
  SELECT topic, "partition", batch, from_offset AS found,
    lag(to_offset) OVER (PARTITION BY topic, "partition" ORDER BY batch) AS wanted,
    lag(batch) OVER (PARTITION BY topic, "partition" ORDER BY batch) AS before
  FROM ledger
) AS steps WHERE before IS NOT NULL AND (found IS DISTINCT FROM wanted) ORDER BY batch, "partition"
"""
# Batches by their place in the ledger: that of a partition's next row must be the next one.
_MISSING: Final = """
WITH numbered AS (
  SELECT batch, row_number() OVER (ORDER BY batch) AS place FROM (SELECT DISTINCT batch FROM ledger) AS batches
), known AS (
  SELECT DISTINCT topic, "partition", numbered.batch, place FROM ledger JOIN numbered ON ledger.batch = numbered.batch
), steps AS (
  SELECT topic, "partition", batch, place, lead(place) OVER (PARTITION BY topic, "partition" ORDER BY place) AS next
  FROM known
)
SELECT topic, "partition", steps.batch, absent.batch AS absent FROM steps
JOIN numbered AS absent ON absent.place = steps.place + 1
WHERE next IS DISTINCT FROM steps.place + 1 ORDER BY 3, 2
"""
_PARTITIONS: Final = 'SELECT count(*) FROM (SELECT DISTINCT topic, "partition" FROM ledger) AS partitions'


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Checks that a batch begins where the one before ended, and that a partition which is known stays known."""
    finding.look(tables.number(_PARTITIONS), "partitions")
    finding.look(tables.number("SELECT count(*) FROM ledger"), "steps")
    finding.each(
        tables.ask(_JOINS),
        "ledger: batch {batch}, partition {partition} of {topic} begins at offset {found}, but batch {before} "
        "ended at {wanted}",
    )
    finding.each(
        tables.ask(_MISSING),
        "ledger: partition {partition} of {topic} is in batch {batch}, but not in the next one, {absent}",
    )
