"""Law 4: every rejected record is one dead letter, and there is no other."""

from typing import Final

from pipeline.commands.verify.tables import Tables
from pipeline.commands.verify.text import moment
from pipeline.commands.verify.verification import Finding, Row
from pipeline.tables.schemas import DEAD_LETTERS

REASONS: Final = ("too_late", "future", "malformed", "partly_late", "erased")
_DEAD: Final = "(SELECT * FROM dead_letters WHERE batch IN (SELECT batch FROM ledger)) AS dead"
_VOID: Final = "SELECT count(*) FROM dead_letters WHERE batch NOT IN (SELECT batch FROM ledger)"
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
_TWICE: Final = f"""
SELECT topic, "partition", "offset", count(*) AS found FROM {_DEAD} GROUP BY topic, "partition", "offset"
HAVING count(*) > 1 ORDER BY "partition", "offset"
"""
_JUDGED: Final = f"""
SELECT dead.batch, dead.topic, dead."partition", dead."offset", dead.watermark, from_offset, to_offset,
  watermark_before, ledger.batch IS NOT NULL AS was_read
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


def check(tables: Tables, finding: Finding) -> None:
    """How many, each once, where they were, what judged them, and that erased ones tell of nobody."""
    void = tables.number(_VOID)
    finding.look(tables.number("SELECT count(*) FROM dead_letters") - void, "dead letters")
    if void:
        finding.tell(f"dead_letters: {void:,} rows of batches that the ledger does not have are void")
    removed = tables.removed(DEAD_LETTERS.name)
    if removed:
        finding.tell(f"dead_letters: those of batches up to {removed} were removed by age")
    numbers = {reason: tables.of_ledger(reason) for reason in REASONS}
    told = " ".join(_TOLD.format(reason=reason, number=it, removed=removed) for reason, it in numbers.items())
    finding.each(
        tables.ask(_COUNTS.format(told=told)),
        "dead_letters: batch {batch}, partition {partition} has {found} that are {reason}, but the ledger {wanted}",
    )
    finding.each(
        tables.ask(_TWICE),
        "dead_letters: offset {offset} of partition {partition} of {topic} is there {found} times, but must be once",
    )
    finding.each(
        tables.ask(_NOT_EMPTY),
        "dead_letters: offset {offset} of partition {partition} of {topic} is of an erased user, but is not empty",
    )
    finding.each(tables.ask(_JUDGED.format(broken=_OUTSIDE)), _is_outside)
    finding.each(tables.ask(_JUDGED.format(broken=_OTHER_WATERMARK)), _was_judged_otherwise)


def _is_outside(row: Row) -> str:
    record = f"dead_letters: offset {row['offset']} of partition {row['partition']} of {row['topic']}"
    if not row["was_read"]:
        return f"{record} is of batch {row['batch']}, which read nothing of that partition"
    return f"{record} is of batch {row['batch']}, which read [{row['from_offset']}, {row['to_offset']})"


def _was_judged_otherwise(row: Row) -> str:
    return (
        f"dead_letters: offset {row['offset']} of partition {row['partition']} of {row['topic']} was judged by the "
        f"watermark {moment(row['watermark'])}, but batch {row['batch']} began at {moment(row['watermark_before'])}"
    )
