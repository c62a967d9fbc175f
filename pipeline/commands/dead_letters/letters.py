"""Dead letters counted: by reason and by hour. Read without Spark; rows of void batches do not count."""

from typing import Final

from rich.console import Console
from rich.table import Table

from pipeline.commands.times import time_of
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
_COMMITTED: Final = "batch IN (SELECT batch FROM ledger)"


def print_reasons(warehouse: str, since: int | None = None, until: int | None = None) -> None:
    """One line for each reason and detail. Times in milliseconds, `[since, until)`."""
    table = Table("reason", "detail", "records", "first (UTC)", "last (UTC)", "newest: partition, offset")
    for row in letters(REASONS, warehouse, since, until):
        times, place = (shown(row["first"]), shown(row["last"])), f"{row['place']}, {row['at']}"
        table.add_row(row["reason"], row["detail"], f"{row['number']:,}", *times, place)
    Console().print(table)


def print_hours(warehouse: str, since: int | None = None, until: int | None = None) -> None:
    """One line for each hour that has any, with a column for each reason."""
    rows = letters(_HOURS, warehouse, since, until)
    reasons = sorted({row["reason"] for row in rows})
    table = Table("hour (UTC)", *reasons)
    for hour in sorted({row["hour"] for row in rows}):
        counts = {row["reason"]: row["number"] for row in rows if row["hour"] == hour}
        table.add_row(shown(hour), *(f"{counts.get(reason, 0):,}" for reason in reasons))
    Console().print(table)


def letters(sql: str, warehouse: str, since: int | None = None, until: int | None = None, more: str = "") -> list[Row]:
    """What a statement over `dead` says, in which `{those}` are committed and within the times.

    Raises SetUpError where there is no warehouse.
    """
    require_warehouse(warehouse)
    dead, ledger = (find_table(spec.name, warehouse) for spec in (DEAD_LETTERS, LEDGER))
    if dead is None or ledger is None:
        return []
    bounds = {">=": since, "<": until}
    those = [_COMMITTED, *(f"kafka_timestamp {sign} {at}" for sign, at in bounds.items() if at is not None)]
    return rows_of(sql.format(those=" AND ".join([*those, *filter(None, [more])])), dead=dead, ledger=ledger)


def shown(milliseconds: int | None) -> str:
    """A time as it is read."""
    return "none" if milliseconds is None else time_of(milliseconds)
