"""Law 4: every rejected record is one dead letter, and there is no other."""

from typing import Final

from pipeline.tables.schemas import DEAD_LETTERS
from pipeline.verifier import queries
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_REASONS: Final = ("too_late", "future", "malformed", "partly_late", "erased")
_DEAD: Final = "(SELECT * FROM dead_letters WHERE batch IN (SELECT batch FROM ledger)) AS dead"
_COUNTS: Final = f"""
SELECT batch, "partition", reason, sum(found) AS found, sum(wanted) AS wanted FROM (
  SELECT batch, "partition", reason, count(*) AS found, 0 AS wanted FROM {_DEAD} GROUP BY batch, "partition", reason
  {{told}}
) AS both GROUP BY batch, "partition", reason HAVING sum(found) <> sum(wanted) ORDER BY batch, "partition", reason
"""
_TOLD: Final = (
    "UNION ALL SELECT batch, \"partition\", '{reason}', 0, {number} FROM ledger "
    "WHERE {number} > 0 AND batch > {removed}"
)
_JUDGED: Final = f"""
SELECT dead.batch, dead.topic, dead."partition", dead."offset", dead.watermark, watermark_before,
  CASE WHEN ledger.batch IS NULL THEN 'nothing of that partition'
    ELSE concat('[', from_offset, ', ', to_offset, ')') END AS was_read
FROM {_DEAD} LEFT JOIN ledger
  ON dead.batch = ledger.batch AND dead."partition" = ledger."partition" AND dead.topic = ledger.topic
WHERE {{broken}} ORDER BY dead.batch, dead."partition", dead."offset"
"""
_NOT_EMPTY: Final = f"""
SELECT dead."partition", dead."offset", dead.topic FROM {_DEAD} WHERE reason = 'erased'
  AND (user_id IS NOT NULL OR key IS NOT NULL OR value IS NOT NULL OR event_time IS NOT NULL)
ORDER BY dead."partition", dead."offset"
"""
_OUTSIDE: Final = 'ledger.batch IS NULL OR dead."offset" < from_offset OR dead."offset" >= to_offset'
_OTHER_WATERMARK: Final = "ledger.batch IS NOT NULL AND (dead.watermark IS DISTINCT FROM watermark_before)"
_RECORD: Final = "dead_letters: offset {offset} of partition {partition} of {topic}"


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """How many, each once, where they were, what judged them, and that erased ones tell of nobody."""
    finding.look(queries.committed(tables, DEAD_LETTERS.name, finding), "dead letters")
    removed = tables.removed(DEAD_LETTERS.name)
    if removed:
        finding.tell(f"dead_letters: those of batches up to {removed} were removed by age")
    numbers = {reason: tables.of_ledger(reason) for reason in _REASONS}
    told = " ".join(_TOLD.format(reason=reason, number=it, removed=removed) for reason, it in numbers.items())
    finding.each(
        tables.ask(_COUNTS.format(told=told)),
        "dead_letters: batch {batch}, partition {partition} has {found} that are {reason}, but the ledger {wanted}",
    )
    twice = tables.ask(queries.twice(_DEAD, ("topic", '"partition"', '"offset"')))
    finding.each(twice, f"{_RECORD} is there {{found}} times, but must be once")
    finding.each(tables.ask(_NOT_EMPTY), f"{_RECORD} is of an erased user, but is not empty")
    finding.each(
        tables.ask(_JUDGED.format(broken=_OUTSIDE)), f"{_RECORD} is of batch {{batch}}, which read {{was_read}}"
    )
    finding.each(
        tables.ask(_JUDGED.format(broken=_OTHER_WATERMARK)),
        f"{_RECORD} was judged by the watermark {{watermark:moment}}, but batch {{batch}} began at "
        "{watermark_before:moment}",
    )
