"""Law 3: there is one watermark, which each batch takes over from the one before, and which never goes back.

Except where an epoch says of itself that it was begun at another one.
"""

from typing import Final

from pipeline.event_time.batch import EPOCH
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot
from pipeline.verifier.wording import moment

_DISAGREE: Final = """
SELECT batch, min({name}) AS lowest, CASE WHEN count({name}) = count(*) THEN max({name}) END AS other FROM ledger
GROUP BY batch
HAVING min({name}) <> max({name}) OR (count({name}) > 0 AND count({name}) < count(*)) ORDER BY batch
"""
_STEPS: Final = """
WITH batches AS (
  SELECT batch, max(watermark_before) AS before, max(watermark) AS after FROM ledger GROUP BY batch
), steps AS (
  SELECT batch, before, after, lag(after) OVER (ORDER BY batch) AS handed_on, lag(batch) OVER (ORDER BY batch) AS last,
    {reset} AS reset
  FROM batches
)
SELECT * FROM steps WHERE {broken} ORDER BY batch
"""
# Of the step from a batch to the next: what must not be, and how to say it.
_BROKEN: Final = (
    (
        (
            "last IS NOT NULL AND (before IS DISTINCT FROM handed_on) "
            "AND (reset IS NULL OR (before IS DISTINCT FROM reset))"
        ),
        "ledger: batch {batch} begins at the watermark {before:moment}, but batch {last} ended at {handed_on:moment}",
    ),
    (
        "reset IS NULL AND before IS NOT NULL AND (after IS NULL OR after < before)",
        "ledger: in batch {batch} the watermark goes back, from {before:moment} to {after:moment}",
    ),
    (
        "reset IS NOT NULL AND (after IS DISTINCT FROM reset)",
        "ledger: batch {batch} opens an epoch that begins anew at the watermark {reset:moment}, but has {after:moment}",
    ),
)


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Of each batch by itself, then from batch to batch."""
    finding.look(tables.number("SELECT count(DISTINCT batch) FROM ledger"), "batches")
    for name in ("watermark_before", "watermark"):
        finding.each(
            tables.ask(_DISAGREE.format(name=name)),
            f"ledger: the partitions of batch {{batch}} disagree on {name}: {{lowest:moment}} and {{other:moment}}",
        )
    resets = {epoch: one.reset.watermark for epoch, one in tables.openings.items() if one.reset}
    cases = " ".join(f"WHEN {epoch * EPOCH} THEN {watermark}" for epoch, watermark in resets.items())
    reset = f"CASE batch {cases} END" if cases else "CAST(NULL AS BIGINT)"
    for broken, sentence in _BROKEN:
        finding.each(tables.ask(_STEPS.format(reset=reset, broken=broken)), sentence)
    for epoch, watermark in resets.items():
        finding.tell(f"epoch {epoch} was begun anew at the watermark {moment(watermark)}")
