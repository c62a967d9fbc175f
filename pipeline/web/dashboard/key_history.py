"""The history of a user or a page in each report, newest first."""

from dataclasses import dataclass
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.reading.table_reader import CurrentTables, text_sql
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import USER_TOTALS
from tidemark.pipeline.web.pages.letter_pages import letters_of
from tidemark.pipeline.web.pages.paging import Slice
from tidemark.pipeline.web.pages.window_sums import rows_of_report

_REPORTS: Final = 3
"""Rows of this many reports are read; the others are linked."""
_LETTERS: Final = 10


@dataclass(frozen=True, slots=True)
class KeyHistory:
    """The history of a key value."""

    totals: Row | None
    """Row of a user in `user_totals`."""
    pages: list[tuple[Report, Slice]]
    others: list[Report]
    letters: Slice | None
    """Newest dead letters of a user."""


def history_of(tables: CurrentTables, summary: LedgerSummary, key: str, value: str) -> KeyHistory:
    """Reads the history of a value of `key`, which is `user_id` or `page_url`."""
    reports = sorted((r for r in summary.policy.reports if key in r.keys), key=lambda report: len(report.keys))
    is_user = key == c.USER_ID
    return KeyHistory(
        totals=_totals(tables, value) if is_user else None,
        pages=[(report, rows_of_report(tables, report, {key: value}, None, 0)) for report in reports[:_REPORTS]],
        others=reports[_REPORTS:],
        letters=letters_of(tables, listed=_LETTERS, user_id=value) if is_user else None,
    )


def _totals(tables: CurrentTables, user: str) -> Row | None:
    table = tables.find(USER_TOTALS.name)
    if table is None:
        return None
    names = [name for name in USER_TOTALS.schema.names if name not in (c.USER_ID, c.PUBLISHED_BATCH, c.BUCKET)]
    rows = rows_of(f"SELECT {', '.join(names)} FROM totals WHERE user_id = {text_sql(user)} LIMIT 1", totals=table)  # noqa: S608 - quoted
    return rows[0] if rows else None
