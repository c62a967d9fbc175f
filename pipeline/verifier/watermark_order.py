"""Invariant 3: there is one watermark, which each batch takes over from the batch before, and which never goes back.

Only an epoch whose opening records a reset starts at another watermark. In an epoch that caps the watermark, it never
moves ahead of the service's clock.
"""

from typing import Final

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.verifier.verification import Finding, time_text
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_DISAGREEMENTS_SQL: Final = """
SELECT batch, min({name}) AS lowest, CASE WHEN count({name}) = count(*) THEN max({name}) END AS other FROM ledger
GROUP BY batch
HAVING min({name}) <> max({name}) OR (count({name}) > 0 AND count({name}) < count(*)) ORDER BY batch
"""
_STEPS_SQL: Final = """
WITH batches AS (
  SELECT batch, max(watermark_before) AS before, max(watermark) AS after, max(committed_at) AS committed_at
  FROM ledger GROUP BY batch
), steps AS (
  SELECT batch, before, after, committed_at, {reset} AS reset, {is_capped} AS is_capped,
    lag(after) OVER (ORDER BY batch) AS last_after, lag(batch) OVER (ORDER BY batch) AS last
  FROM batches
)
SELECT * FROM steps WHERE {violation} ORDER BY batch
"""
# The condition of a violation at a step from one batch to the next, and its sentence.
_VIOLATIONS: Final = (
    (
        (
            "last IS NOT NULL AND (before IS DISTINCT FROM last_after) "
            "AND (reset IS NULL OR (before IS DISTINCT FROM reset))"
        ),
        "ledger: batch {batch} begins at the watermark {before:time}, but batch {last} ended at {last_after:time}",
    ),
    (
        "reset IS NULL AND before IS NOT NULL AND (after IS NULL OR after < before)",
        "ledger: in batch {batch} the watermark goes back, from {before:time} to {after:time}",
    ),
    (
        "reset IS NOT NULL AND (after IS DISTINCT FROM reset)",
        "ledger: batch {batch} opens an epoch that resets the watermark to {reset:time}, but has {after:time}",
    ),
    (
        f"is_capped AND after > committed_at AND after <> {rules.END_OF_INPUT} AND (before IS NULL OR after > before)",
        "ledger: batch {batch} moves the watermark to {after:time}, ahead of its commit at {committed_at:time}",
    ),
)


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Checks the partitions of each batch, then the steps from batch to batch."""
    finding.count(tables.scalar("SELECT count(DISTINCT batch) FROM ledger"), "batch", "batches")
    for name in ("watermark_before", "watermark"):
        finding.report_rows(
            tables.ask(_DISAGREEMENTS_SQL.format(name=name)),
            f"ledger: the partitions of batch {{batch}} disagree on {name}: {{lowest:time}} and {{other:time}}",
        )
    resets = {epoch: opening.reset.watermark for epoch, opening in tables.openings.items() if opening.reset}
    cases = " ".join(f"WHEN {epoch * EPOCH} THEN {watermark}" for epoch, watermark in resets.items())
    reset = f"CASE batch {cases} END" if cases else "CAST(NULL AS BIGINT)"
    capped = [str(epoch * EPOCH) for epoch, opening in tables.openings.items() if opening.policy.caps_watermark]
    is_capped = f"batch - batch % {EPOCH} IN ({', '.join(capped)})" if capped else "false"
    for violation, sentence in _VIOLATIONS:
        finding.report_rows(
            tables.ask(_STEPS_SQL.format(reset=reset, is_capped=is_capped, violation=violation)), sentence
        )
    for epoch, watermark in resets.items():
        finding.note(f"epoch {epoch} reset the watermark to {time_text(watermark)}")
