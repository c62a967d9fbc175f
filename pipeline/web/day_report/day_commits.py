"""Reads the batches that were committed on a day, by the service's clock, and their dead letters."""

from dataclasses import dataclass
from typing import Final

from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.reading.dead_letter_listing import REASONS_SQL
from tidemark.pipeline.reading.ledger_summary import Account, account_of, account_sql
from tidemark.pipeline.reading.table_reader import CurrentTables
from tidemark.pipeline.tables.file_statistics import lowest
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, LEDGER
from tidemark.pipeline.web.day_report.calendar_day import Day
from tidemark.pipeline.web.pages.letter_pages import letters_of

_LETTERS: Final = 5
_REASONS: Final = 20
_QUARTER_MS: Final = 900_000


@dataclass(frozen=True, slots=True)
class Delay:
    """The largest difference between clock and watermark, at commits in `[start, end)`; milliseconds."""

    start: int
    end: int
    behind: int


@dataclass(frozen=True, slots=True)
class DayCommits:
    """The batches of a day and their records by verdict; times in milliseconds."""

    batches: int
    epochs: int
    """Number of epochs, which are starts of the service."""
    account: Account
    passed_at: int | None
    """Commit time of the first batch whose watermark is at the end of the day; None before such a batch."""
    first_commit_at: int
    """Commit time of the first batch in the ledger."""
    delays: list[Delay]
    """Delays by quarter of an hour, if it has a commit and a watermark."""
    reasons: list[Row]
    """The most frequent reasons and details of dead letters, the most frequent first."""
    more_reasons: bool
    """Whether there are further reasons."""
    letters: list[Row]
    """The newest dead letters."""


def committed_on(tables: CurrentTables, day: Day) -> DayCommits:
    """Reads what was committed on a day. The ledger must exist."""
    ledger = tables.find(LEDGER.name)
    assert ledger is not None  # noqa: S101 - its summary exists
    on_day = f"committed_at >= {day.start} AND committed_at < {day.end}"
    (row,) = rows_of(
        f"SELECT count(DISTINCT {c.BATCH}) AS batches, count(DISTINCT epoch) AS epochs, min({c.BATCH}) AS first, "  # noqa: S608 - ours
        f"max({c.BATCH}) AS last, {account_sql(ledger)} FROM ledger WHERE {on_day}",
        ledger=ledger,
    )
    (passed,) = rows_of(
        f"SELECT min(committed_at) AS at FROM ledger WHERE {c.WATERMARK} >= {day.end}",  # noqa: S608 - our own number
        ledger=ledger,
    )
    reasons = _reasons(tables, ledger, row["first"], row["last"], on_day)
    letters = letters_of(tables, until=row["last"], listed=_LETTERS).rows if row["batches"] else []
    return DayCommits(
        batches=row["batches"],
        epochs=row["epochs"],
        account=account_of(row),
        passed_at=passed["at"],
        first_commit_at=lowest(ledger, "committed_at"),
        delays=_delays(ledger, day, on_day),
        reasons=reasons[:_REASONS],
        more_reasons=len(reasons) > _REASONS,
        letters=[letter for letter in letters if letter[c.BATCH] >= row["first"]],
    )


def _delays(ledger: DeltaTable, day: Day, on_day: str) -> list[Delay]:
    rows = rows_of(
        f"SELECT (committed_at - {day.start}) / {_QUARTER_MS} AS quarter, max(committed_at - {c.WATERMARK}) AS behind "  # noqa: S608 - ours
        f"FROM ledger WHERE {on_day} AND {c.WATERMARK} IS NOT NULL GROUP BY 1 ORDER BY 1",
        ledger=ledger,
    )
    starts = [(day.start + row["quarter"] * _QUARTER_MS, row["behind"]) for row in rows]
    return [Delay(start, min(start + _QUARTER_MS, day.end), max(behind, 0)) for start, behind in starts]


def _reasons(tables: CurrentTables, ledger: DeltaTable, first: int | None, last: int | None, on_day: str) -> list[Row]:
    dead = tables.find(DEAD_LETTERS.name)
    if first is None or dead is None:
        return []
    committed = f"SELECT {c.BATCH} FROM ledger WHERE {on_day}"  # noqa: S608 - our own numbers
    condition = f"{c.BATCH} BETWEEN {first} AND {last} AND {c.BATCH} IN ({committed})"
    return rows_of(f"{REASONS_SQL.format(condition=condition)} LIMIT {_REASONS + 1}", dead=dead, ledger=ledger)
