"""Prints dead letters of committed batches by reason, by hour, and one in detail. Needs no Spark."""

from typing import Final

from tidemark.command_line.terminal import Console, Table
from tidemark.pipeline.decoding.record_decoding import decode_value
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.instants import time_of
from tidemark.pipeline.settings.load import require
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.event_schemas import schemas_of
from tidemark.pipeline.tables.ledger import require_warehouse
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, LEDGER, find_table

REASONS_SQL: Final = """
SELECT reason, detail, count(*) AS letters, min(kafka_timestamp) AS first, max(kafka_timestamp) AS last,
  last_value("partition" ORDER BY kafka_timestamp, "partition", "offset") AS last_partition,
  last_value("offset" ORDER BY kafka_timestamp, "partition", "offset") AS last_offset
FROM dead WHERE {condition} GROUP BY reason, detail ORDER BY letters DESC, reason, detail
"""
_HOURS_SQL: Final = """
SELECT kafka_timestamp / 3600000 * 3600000 AS hour, reason, count(*) AS letters
FROM dead WHERE {condition} GROUP BY 1, 2 ORDER BY 1, 2
"""
_LETTERS_SQL: Final = "SELECT * FROM dead WHERE {condition}"


def print_reasons(warehouse: str, since: int | None, until: int | None) -> None:
    """Prints a line for each reason and detail. `since` (inclusive) and `until` are Kafka timestamps in ms."""
    table = Table("reason", "detail", "records", "first (UTC)", "last (UTC)", "newest: partition, offset")
    for row in _letters(REASONS_SQL, warehouse, since, until):
        times, newest = (
            (_time_text(row["first"]), _time_text(row["last"])),
            f"{row['last_partition']}, {row['last_offset']}",
        )
        table.add_row(row["reason"], row["detail"], f"{row['letters']:,}", *times, newest)
    Console().print_rows(table)


def print_hours(warehouse: str, since: int | None, until: int | None) -> None:
    """Prints a line for each hour with dead letters, with a column for each reason."""
    rows = _letters(_HOURS_SQL, warehouse, since, until)
    reasons = sorted({row["reason"] for row in rows})
    table = Table("hour (UTC)", *reasons)
    for hour in dict.fromkeys(row["hour"] for row in rows):
        counts = {row["reason"]: row["letters"] for row in rows if row["hour"] == hour}
        table.add_row(_time_text(hour), *(f"{counts.get(reason, 0):,}" for reason in reasons))
    Console().print_rows(table)


def print_opened(settings: Settings, partition: int, offset: int) -> None:
    """Prints why a record was rejected, and its fields as far as readable. Raises SetUpError if it does not exist."""
    require(settings, "warehouse")
    letters = _letters(_LETTERS_SQL, settings.warehouse, more=f'"partition" = {partition} AND "offset" = {offset}')
    if not letters:
        raise SetUpError(
            f"there is no dead letter at offset {offset} of partition {partition}: "
            "`tidemark dead-letters list` shows existing ones"
        )
    letter = letters[0]
    value = decode_value(letter["value"], schemas_of(settings).texts)
    table = Table("property", "value", title=f"{letter['reason']}: {letter['detail']}")
    properties = {
        "Kafka timestamp": _time_text(letter["kafka_timestamp"]),
        "watermark": _time_text(letter["watermark"]),
        "batch": letter["batch"],
        "key": letter["key"],
        "bytes": value.size,
        "value": value.sentence,
        **dict(value.fields),
        "text": value.text,
    }
    for name, text in properties.items():
        if text is not None:
            table.add_row(name, str(text))
    if not value.fields:
        for index, line in enumerate(value.bytes.splitlines()):
            table.add_row("" if index else "starts with", line)
    Console().print_rows(table)


def _letters(sql: str, warehouse: str, since: int | None = None, until: int | None = None, more: str = "") -> list[Row]:
    """Queries the table `dead`; `{condition}` in `sql` selects committed letters in `[since, until)` and `more`.

    Raises SetUpError if there is no warehouse.
    """
    require_warehouse(warehouse)
    dead, ledger = (find_table(spec.name, warehouse) for spec in (DEAD_LETTERS, LEDGER))
    if dead is None or ledger is None:
        return []
    bounds = {">=": since, "<": until}
    conditions = [f"kafka_timestamp {sign} {at}" for sign, at in bounds.items() if at is not None]
    conditions = ["batch IN (SELECT batch FROM ledger)", *conditions, *filter(None, [more])]
    return rows_of(sql.format(condition=" AND ".join(conditions)), dead=dead, ledger=ledger)


def _time_text(milliseconds: int | None) -> str:
    return "none" if milliseconds is None else time_of(milliseconds)
