"""Dead letters counted by reason and by hour, and one opened. Read without Spark; rows of void batches do not count."""

from typing import Final

from command_line.terminal import Console, Table
from pipeline.errors import SetUpError
from pipeline.instants import time_of
from pipeline.reading.record_decoding import decode_value
from pipeline.settings.load import require
from pipeline.settings.model import Settings
from pipeline.tables.event_schemas import schemas_of
from pipeline.tables.ledger import require_warehouse
from pipeline.tables.query import Row, rows_of
from pipeline.tables.schemas import DEAD_LETTERS, LEDGER, find_table

REASONS: Final = """
SELECT reason, detail, count(*) AS number, min(kafka_timestamp) AS first, max(kafka_timestamp) AS last,
  last_value("partition" ORDER BY kafka_timestamp, "partition", "offset") AS place,
  last_value("offset" ORDER BY kafka_timestamp, "partition", "offset") AS at
FROM dead WHERE {those} GROUP BY reason, detail ORDER BY number DESC, reason, detail
"""
_HOURS: Final = """
SELECT kafka_timestamp / 3600000 * 3600000 AS hour, reason, count(*) AS number
FROM dead WHERE {those} GROUP BY 1, 2 ORDER BY 1, 2
"""
_ONE: Final = "SELECT * FROM dead WHERE {those}"


def print_reasons(warehouse: str, since: int | None, until: int | None) -> None:
    """One line for each reason and detail. Times in milliseconds, `[since, until)`."""
    table = Table("reason", "detail", "records", "first (UTC)", "last (UTC)", "newest: partition, offset")
    for row in _letters(REASONS, warehouse, since, until):
        times, place = (_shown(row["first"]), _shown(row["last"])), f"{row['place']}, {row['at']}"
        table.add_row(row["reason"], row["detail"], f"{row['number']:,}", *times, place)
    Console().print(table)


def print_hours(warehouse: str, since: int | None, until: int | None) -> None:
    """One line for each hour that has any, with a column for each reason."""
    rows = _letters(_HOURS, warehouse, since, until)
    reasons = sorted({row["reason"] for row in rows})
    table = Table("hour (UTC)", *reasons)
    for hour in dict.fromkeys(row["hour"] for row in rows):
        counts = {row["reason"]: row["number"] for row in rows if row["hour"] == hour}
        table.add_row(_shown(hour), *(f"{counts.get(reason, 0):,}" for reason in reasons))
    Console().print(table)


def print_opened(settings: Settings, partition: int, offset: int) -> None:
    """Why one was rejected, and its fields as far as they can be read. Raises SetUpError where there is none."""
    require(settings, "warehouse")
    found = _letters(_ONE, settings.warehouse, more=f'"partition" = {partition} AND "offset" = {offset}')
    if not found:
        raise SetUpError(
            f"there is no dead letter at offset {offset} of partition {partition}: "
            "`tidemark dead-letters list` names some that there are"
        )
    letter = found[0]
    value = decode_value(letter["value"], schemas_of(settings).texts)
    table = Table("what", "it says", title=f"{letter['reason']}: {letter['detail']}")
    told = {
        "taken by Kafka": _shown(letter["kafka_timestamp"]),
        "watermark then": _shown(letter["watermark"]),
        "batch": letter["batch"],
        "key": letter["key"],
        "bytes": value.size,
        "value": value.sentence,
        **dict(value.fields),
        "text": value.text,
    }
    for name, what in told.items():
        if what is not None:
            table.add_row(name, str(what))
    if not value.fields:
        for number, line in enumerate(value.bytes.splitlines()):
            table.add_row("" if number else "begins with", line)
    Console().print(table)


def _letters(sql: str, warehouse: str, since: int | None = None, until: int | None = None, more: str = "") -> list[Row]:
    """What a statement over `dead` says, in which `{those}` are committed and within the times.

    Raises SetUpError where there is no warehouse.
    """
    require_warehouse(warehouse)
    dead, ledger = (find_table(spec.name, warehouse) for spec in (DEAD_LETTERS, LEDGER))
    if dead is None or ledger is None:
        return []
    bounds = {">=": since, "<": until}
    those = [f"kafka_timestamp {sign} {at}" for sign, at in bounds.items() if at is not None]
    those = ["batch IN (SELECT batch FROM ledger)", *those, *filter(None, [more])]
    return rows_of(sql.format(those=" AND ".join(those)), dead=dead, ledger=ledger)


def _shown(milliseconds: int | None) -> str:
    return "none" if milliseconds is None else time_of(milliseconds)
