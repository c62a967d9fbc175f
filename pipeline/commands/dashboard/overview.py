"""The first screen: all of it as of one moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pipeline import columns as c
from pipeline.commands.dashboard.books import Books
from pipeline.commands.dashboard.changed import Correction, Late, corrections_of, late_of
from pipeline.commands.dashboard.dead_letters import Letter, Letters, letter_of, letters_of
from pipeline.commands.dashboard.picture import Picture, picture_of
from pipeline.commands.dashboard.tables import Tables
from pipeline.commands.dashboard.watermark import Lane, explained, lanes_of
from pipeline.commands.dashboard.windows import SHOWN, Window, first_sum, top_of, windows_of
from pipeline.commands.decoded import Schemas
from pipeline.event_time.report import Report
from pipeline.event_time.windows.periodic import Periodic

_LETTERS: Final = 5


@dataclass(frozen=True, slots=True)
class Top:
    """The values of a key with the most events in the newest windows of a report."""

    report: str
    key: str
    measure: str
    windows: int
    entries: list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Overview:
    """What the first screen shows; times in milliseconds."""

    now: int
    books: Books
    report: Report | None
    """Whose windows are shown: of those without sessions and counts the one with the fewest keys."""
    windows: list[Window]
    tops: list[Top]
    lanes: list[Lane]
    words: list[str]
    picture: Picture | None
    late: list[Late]
    corrections: list[Correction]
    letters: Letters
    opened: Letter | None
    """The newest dead letter."""


def overview_of(tables: Tables, books: Books, schemas: Schemas, now: int) -> Overview:
    """The first screen, of what is a fixed number of windows, batches and dead letters."""
    report = _chief(books.policy.reports)
    windows = windows_of(tables, report, SHOWN) if report else []
    lanes, letters = lanes_of(books), letters_of(tables, listed=_LETTERS)
    newest = letters.rows[0] if letters.rows else None
    return Overview(
        now=now,
        books=books,
        report=report,
        windows=windows,
        tops=_tops(tables, books.policy.reports),
        lanes=lanes,
        words=explained(books, lanes),
        picture=picture_of(books, lanes, report, now),
        late=late_of(tables, windows),
        corrections=corrections_of(tables),
        letters=letters,
        opened=letter_of(tables, newest[c.BATCH], newest[c.PARTITION], newest[c.OFFSET], schemas) if newest else None,
    )


def _chief(reports: Sequence[Report]) -> Report | None:
    timed = [report for report in reports if isinstance(report.windows, Periodic)]
    return min(timed, key=lambda report: (len(report.keys), bool(report.where)), default=None)


def _tops(tables: Tables, reports: Sequence[Report]) -> list[Top]:
    """For pages and for users that of the first report that has only this key and windows of time."""
    alone = [report for report in reports if not report.where and isinstance(report.windows, Periodic)]
    chosen = [next((one for one in alone if one.keys == (key,)), None) for key in (c.PAGE_URL, c.USER_ID)]
    return [Top(one.name, one.keys[0], first_sum(one), *top_of(tables, one)) for one in chosen if one]
