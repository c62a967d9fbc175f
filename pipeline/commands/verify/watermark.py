"""Law 3: there is one watermark, which each batch takes over from the one before, and which never goes back.

Except where an epoch says of itself that it was begun at another one.
"""

from functools import partial
from typing import Final

import pyarrow as pa

from pipeline.commands.verify.tables import Tables
from pipeline.commands.verify.text import moment
from pipeline.commands.verify.verification import Finding, Row
from pipeline.event_time.batch import EPOCH

_DISAGREE: Final = """
SELECT batch, min({name}) AS lowest, max({name}) AS highest, count(*) - count({name}) AS without FROM ledger
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
_NOT_HANDED_ON: Final = (
    "last IS NOT NULL AND (before IS DISTINCT FROM handed_on) AND (reset IS NULL OR (before IS DISTINCT FROM reset))"
)
_BACK: Final = "reset IS NULL AND before IS NOT NULL AND (after IS NULL OR after < before)"
_NOT_RESET: Final = "reset IS NOT NULL AND (after IS DISTINCT FROM reset)"


def check(tables: Tables, finding: Finding) -> None:
    """Of each batch by itself, then from batch to batch."""
    finding.look(tables.number("SELECT count(DISTINCT batch) FROM ledger"), "batches")
    for name in ("watermark_before", "watermark"):
        finding.each(tables.ask(_DISAGREE.format(name=name)), partial(_disagrees, name))
    finding.each(_steps(tables, _NOT_HANDED_ON), _is_not_handed_on)
    finding.each(_steps(tables, _BACK), _goes_back)
    finding.each(
        _steps(tables, _NOT_RESET),
        lambda row: (
            f"ledger: batch {row['batch']} opens an epoch that begins anew at the watermark {moment(row['reset'])}, "
            f"but has {moment(row['after'])}"
        ),
    )
    for epoch, opening in tables.openings.items():
        if opening.reset is not None:
            finding.tell(f"epoch {epoch} was begun anew at the watermark {moment(opening.reset.watermark)}")


def _steps(tables: Tables, broken: str) -> pa.Table:
    resets = [
        f"WHEN {epoch * EPOCH} THEN {opening.reset.watermark}"
        for epoch, opening in tables.openings.items()
        if opening.reset is not None
    ]
    reset = f"CASE batch {' '.join(resets)} END" if resets else "CAST(NULL AS BIGINT)"
    return tables.ask(_STEPS.format(reset=reset, broken=broken))


def _disagrees(name: str, row: Row) -> str:
    other = "none" if row["without"] else moment(row["highest"])
    return f"ledger: the partitions of batch {row['batch']} disagree on {name}: {moment(row['lowest'])} and {other}"


def _is_not_handed_on(row: Row) -> str:
    return (
        f"ledger: batch {row['batch']} begins at the watermark {moment(row['before'])}, but batch {row['last']} ended "
        f"at {moment(row['handed_on'])}"
    )


def _goes_back(row: Row) -> str:
    went = f"from {moment(row['before'])} to {moment(row['after'])}"
    return f"ledger: in batch {row['batch']} the watermark goes back, {went}"
