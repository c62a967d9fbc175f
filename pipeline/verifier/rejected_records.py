"""Invariant 4: every rejected record is one dead letter, and every dead letter is a rejected record."""

from typing import Final

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.tables.schemas import DEAD_LETTERS
from tidemark.pipeline.verifier import queries
from tidemark.pipeline.verifier.verification import Finding
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_REASONS: Final = ("too_late", "future", "malformed", "partly_late", "erased")
_COMMITTED_SQL: Final = "(SELECT * FROM dead_letters WHERE batch IN (SELECT batch FROM ledger)) AS dead"
_MISCOUNTED_SQL: Final = f"""
SELECT batch, "partition", reason, sum(found) AS found, sum(expected) AS expected FROM (
  SELECT batch, "partition", reason, count(*) AS found, 0 AS expected
  FROM {_COMMITTED_SQL} GROUP BY batch, "partition", reason
  {{expected}}
) AS both GROUP BY batch, "partition", reason HAVING sum(found) <> sum(expected) ORDER BY batch, "partition", reason
"""
_EXPECTED_SQL: Final = (
    "UNION ALL SELECT batch, \"partition\", '{reason}', 0, {count} FROM ledger WHERE {count} > 0 AND batch > {removed}"
)
_MISJUDGED_SQL: Final = f"""
SELECT dead.batch, dead.topic, dead."partition", dead."offset", dead.watermark, watermark_before,
  ledger.watermark AS watermark_after,
  CASE WHEN ledger.batch IS NULL THEN 'nothing of that partition'
    ELSE concat('[', from_offset, ', ', to_offset, ')') END AS was_read
FROM {_COMMITTED_SQL} LEFT JOIN ledger
  ON dead.batch = ledger.batch AND dead."partition" = ledger."partition" AND dead.topic = ledger.topic
WHERE {{violation}} ORDER BY dead.batch, dead."partition", dead."offset"
"""
_NOT_EMPTY_SQL: Final = f"""
SELECT dead."partition", dead."offset", dead.topic FROM {_COMMITTED_SQL} WHERE reason = 'erased'
  AND (user_id IS NOT NULL OR key IS NOT NULL OR value IS NOT NULL OR event_time IS NOT NULL)
ORDER BY dead."partition", dead."offset"
"""
_OUTSIDE_SQL: Final = 'ledger.batch IS NULL OR dead."offset" < from_offset OR dead."offset" >= to_offset'
_OTHER_WATERMARK_SQL: Final = f"""
ledger.batch IS NOT NULL AND CASE WHEN {{by_arrival}}
  THEN coalesce(dead.watermark, {rules.NO_WATERMARK}) < coalesce(watermark_before, {rules.NO_WATERMARK})
    OR coalesce(dead.watermark, {rules.NO_WATERMARK}) > coalesce(ledger.watermark, {rules.NO_WATERMARK})
  ELSE dead.watermark IS DISTINCT FROM watermark_before END
"""
_FALLING_SQL: Final = f"""
SELECT * FROM (
  SELECT batch, topic, "partition", "offset", watermark,
    lag("offset") OVER (PARTITION BY batch, topic, "partition" ORDER BY "offset") AS earlier_offset,
    lag(watermark) OVER (PARTITION BY batch, topic, "partition" ORDER BY "offset") AS earlier_watermark
  FROM {_COMMITTED_SQL} WHERE batch IN (SELECT batch FROM ledger WHERE {{by_arrival}})
) AS letters WHERE coalesce(watermark, {rules.NO_WATERMARK}) < earlier_watermark
ORDER BY batch, "partition", "offset"
"""
_RECORD: Final = "dead_letters: offset {offset} of partition {partition} of {topic}"


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Checks the number, uniqueness, offsets and watermarks of dead letters, and that erased ones are empty.

    By arrival, each was judged between the watermarks of its batch, which never fall along a partition.
    """
    finding.count(queries.committed(tables, DEAD_LETTERS.name, finding), "dead letter")
    removed = tables.removed_until(DEAD_LETTERS.name)
    if removed:
        finding.note(f"dead_letters: those of batches up to {removed} were removed by age")
    counts = {reason: tables.ledger_column_sql(reason) for reason in _REASONS}
    expected = " ".join(
        _EXPECTED_SQL.format(reason=reason, count=sql, removed=removed) for reason, sql in counts.items()
    )
    finding.report_rows(
        tables.ask(_MISCOUNTED_SQL.format(expected=expected)),
        "dead_letters: batch {batch}, partition {partition} has {found} that are {reason}, but the ledger {expected}",
    )
    repeated = tables.ask(queries.repeated_sql(_COMMITTED_SQL, ("topic", '"partition"', '"offset"')))
    finding.report_rows(repeated, f"{_RECORD} occurs {{found}} times, but must occur once")
    finding.report_rows(tables.ask(_NOT_EMPTY_SQL), f"{_RECORD} is of an erased user, but is not empty")
    finding.report_rows(
        tables.ask(_MISJUDGED_SQL.format(violation=_OUTSIDE_SQL)),
        f"{_RECORD} is of batch {{batch}}, which read {{was_read}}",
    )
    epochs = [epoch for epoch, opening in tables.openings.items() if opening.policy.by_arrival]
    by_arrival = f"epoch IN ({', '.join(map(str, epochs))})" if epochs else "false"
    finding.report_rows(
        tables.ask(_MISJUDGED_SQL.format(violation=_OTHER_WATERMARK_SQL.format(by_arrival=by_arrival))),
        f"{_RECORD} was judged by the watermark {{watermark:time}}, but batch {{batch}} began at "
        "{watermark_before:time} and ended at {watermark_after:time}",
    )
    finding.report_rows(
        tables.ask(_FALLING_SQL.format(by_arrival=by_arrival)),
        f"{_RECORD} was judged by the watermark {{watermark:time}}, but offset {{earlier_offset}}, which arrived "
        "before it, by {earlier_watermark:time}",
    )
