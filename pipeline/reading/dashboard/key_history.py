"""The history of a user or of a page: what each report has of it, newest first."""

from dataclasses import dataclass
from typing import Final

from pipeline import columns as c
from pipeline.event_time.reports import Report
from pipeline.reading.ledger_summary import LedgerSummary
from pipeline.reading.pages.letter_pages import letters_of
from pipeline.reading.pages.paging import Slice
from pipeline.reading.pages.table_reader import CurrentTables, text_sql
from pipeline.reading.pages.window_sums import rows_of_report
from pipeline.tables.query import Row, rows_of
from pipeline.tables.schemas import USER_TOTALS

_READ: Final = 3
"""Of so many reports rows are read; of others there are links."""
_LETTERS: Final = 10


@dataclass(frozen=True, slots=True)
class KeyHistory:
    """What there is of a value of a key."""

    totals: Row | None
    """Of a user: its row in `user_totals`."""
    pages: list[tuple[Report, Slice]]
    others: list[Report]
    letters: Slice | None
    """Of a user: its newest dead letters."""


def history_of(tables: CurrentTables, summary: LedgerSummary, key: str, value: str) -> KeyHistory:
    """The history of a value of `user_id` or `page_url`."""
    reports = sorted((one for one in summary.policy.reports if key in one.keys), key=lambda one: len(one.keys))
    is_user = key == c.USER_ID
    return KeyHistory(
        totals=_totals(tables, value) if is_user else None,
        pages=[(one, rows_of_report(tables, one, {key: value}, None, 0)) for one in reports[:_READ]],
        others=reports[_READ:],
        letters=letters_of(tables, listed=_LETTERS, user_id=value) if is_user else None,
    )


def _totals(tables: CurrentTables, user: str) -> Row | None:
    table = tables.find(USER_TOTALS.name)
    if table is None:
        return None
    names = [name for name in USER_TOTALS.schema.names if name not in (c.USER_ID, c.PUBLISHED_BATCH)]
    rows = rows_of(f"SELECT {', '.join(names)} FROM it WHERE user_id = {text_sql(user)} LIMIT 1", it=table)  # noqa: S608 - quoted
    return rows[0] if rows else None
