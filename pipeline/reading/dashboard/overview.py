"""The first screen: all of it as of one moment."""

from dataclasses import dataclass
from typing import Final

from pipeline import columns as c
from pipeline.event_time.reports import Report
from pipeline.reading.ledger_summary import Books
from pipeline.reading.pages.late_changes import Correction, Late, corrections_of, late_of
from pipeline.reading.pages.letter_pages import Letter, letter_of, letters_of
from pipeline.reading.pages.paging import Slice
from pipeline.reading.pages.table_reader import CurrentTables
from pipeline.reading.pages.top_lists import Top, chief, listed, top_of
from pipeline.reading.pages.watermark_lanes import Lane, explained, lanes_of
from pipeline.reading.pages.watermark_picture import Picture, picture_of
from pipeline.reading.pages.window_sums import ReportWindow, windows_of
from pipeline.reading.record_decoding import Schemas

_LETTERS: Final = 5


@dataclass(frozen=True, slots=True)
class Overview:
    """What the first screen shows; times in milliseconds."""

    books: Books
    report: Report | None
    """Whose windows are shown."""
    windows: list[ReportWindow]
    tops: list[Top]
    lanes: list[Lane]
    words: list[str]
    picture: Picture | None
    late: list[Late]
    corrections: list[Correction]
    letters: Slice
    opened: Letter | None
    """The newest dead letter."""


def overview_of(tables: CurrentTables, books: Books, schemas: Schemas, now: int) -> Overview:
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
