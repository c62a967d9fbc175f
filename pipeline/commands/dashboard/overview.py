"""The first screen: all of it as of one moment."""

from dataclasses import dataclass
from typing import Final

from pipeline import columns as c
from pipeline.commands.books import Books
from pipeline.commands.decoded import Schemas
from pipeline.commands.pages.changed import Correction, Late, corrections_of, late_of
from pipeline.commands.pages.dead_letters import Letter, letter_of, letters_of
from pipeline.commands.pages.paging import Page
from pipeline.commands.pages.picture import Picture, picture_of
from pipeline.commands.pages.tables import Tables
from pipeline.commands.pages.tops import Top, chief, listed, top_of
from pipeline.commands.pages.watermark import Lane, explained, lanes_of
from pipeline.commands.pages.windows import Window, windows_of
from pipeline.event_time.report import Report

_LETTERS: Final = 5


@dataclass(frozen=True, slots=True)
class Overview:
    """What the first screen shows; times in milliseconds."""

    books: Books
    report: Report | None
    """Whose windows are shown."""
    windows: list[Window]
    tops: list[Top]
    lanes: list[Lane]
    words: list[str]
    picture: Picture | None
    late: list[Late]
    corrections: list[Correction]
    letters: Page
    opened: Letter | None
    """The newest dead letter."""


def overview_of(tables: Tables, books: Books, schemas: Schemas, now: int) -> Overview:
    """The first screen, of what is a fixed number of windows, batches and dead letters."""
    report = chief(books.policy.reports)
    windows = windows_of(tables, report) if report else []
    lanes, letters = lanes_of(books), letters_of(tables, listed=_LETTERS)
    newest = letters.rows[0] if letters.rows else None
    return Overview(
        books=books,
        report=report,
        windows=windows,
        tops=[top_of(tables, one) for one in listed(books.policy.reports)],
        lanes=lanes,
        words=explained(books, lanes),
        picture=picture_of(books, lanes, report, now),
        late=late_of(tables, windows),
        corrections=corrections_of(tables),
        letters=letters,
        opened=letter_of(tables, schemas, newest[c.BATCH], newest[c.PARTITION], newest[c.OFFSET]) if newest else None,
    )
