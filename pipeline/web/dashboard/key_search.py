"""Finds users and pages by the start of their names, in the tables as they are: erased users are not in them."""

from dataclasses import dataclass
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.reading.periods.period_sources import Sources
from tidemark.pipeline.reading.table_reader import CurrentTables, text_sql
from tidemark.pipeline.tables.opening import read_opening
from tidemark.pipeline.tables.query import rows_of
from tidemark.pipeline.tables.schemas import LEDGER, USER_TOTALS

_MOST: Final = 50


@dataclass(frozen=True, slots=True)
class Found:
    """The values of a key that start with a text."""

    values: list[str]
    """In text order."""
    has_more: bool
    is_known: bool = True
    """False if no table has single values of the key."""


def search(tables: CurrentTables, sources: Sources, key: str, prefix: str) -> Found:
    """Returns the first values of `key`, which is `user_id` or `page_url`, that start with `prefix`."""
    name = _table(tables, sources, key)
    table = tables.find(name)
    if table is None:
        return Found([], has_more=False, is_known=False)
    rows = rows_of(
        f"SELECT DISTINCT {key} AS value FROM found WHERE starts_with({key}, {text_sql(prefix)}) "  # noqa: S608 - ours, and quoted
        f"ORDER BY 1 LIMIT {_MOST + 1}",
        found=table,
    )
    return Found([row["value"] for row in rows[:_MOST]], has_more=len(rows) > _MOST)


def has_pseudonyms(tables: CurrentTables, summary: LedgerSummary) -> bool:
    """Returns whether the tables have pseudonyms in place of the ids of users."""
    ledger = tables.find(LEDGER.name)
    if ledger is None:
        return False
    sql = f"SELECT max(opening) AS opening FROM ledger WHERE {c.BATCH} = {summary.epoch * EPOCH}"  # noqa: S608 - our own number
    (row,) = rows_of(sql, ledger=ledger)
    return row["opening"] is not None and read_opening(row["opening"]).pseudonyms is not None


def _table(tables: CurrentTables, sources: Sources, key: str) -> str:
    """Returns the name of the table with the fewest rows of single values; empty without one."""
    if key == c.USER_ID and tables.find(USER_TOTALS.name) is not None:
        return USER_TOTALS.name
    levels = sources.users if key == c.USER_ID else sources.pages
    longest = max(levels, key=lambda level: level.size_ms, default=None)
    if longest is not None:
        return longest.report.name
    return sources.visits.report.name if key == c.USER_ID and sources.visits else ""
