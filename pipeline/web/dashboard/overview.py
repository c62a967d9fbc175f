"""The data of `/pipeline`, from one reading."""

from dataclasses import dataclass
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.record_decoding import SchemaTexts
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.reading.table_reader import CurrentTables
from tidemark.pipeline.web.pages.late_changes import Correction, LateWindow, corrections_of, late_windows
from tidemark.pipeline.web.pages.letter_pages import OpenedLetter, letter_of, letters_of
from tidemark.pipeline.web.pages.paging import Slice
from tidemark.pipeline.web.pages.top_lists import TopList, list_reports, main_report, newest_top_list
from tidemark.pipeline.web.pages.watermark_lanes import Lane, explain, lanes_of
from tidemark.pipeline.web.pages.watermark_picture import Picture, picture_of
from tidemark.pipeline.web.pages.window_sums import ReportWindow, windows_of

_LETTERS: Final = 5


@dataclass(frozen=True, slots=True)
class Overview:
    """The data of `/pipeline`; times in milliseconds."""

    summary: LedgerSummary
    report: Report | None
    """Report whose windows are shown."""
    windows: list[ReportWindow]
    tops: list[TopList]
    lanes: list[Lane]
    sentences: list[str]
    picture: Picture | None
    late: list[LateWindow]
    corrections: list[Correction]
    letters: Slice
    opened: OpenedLetter | None
    """The newest dead letter."""


def overview_of(tables: CurrentTables, summary: LedgerSummary, schemas: SchemaTexts, now: int) -> Overview:
    """Reads the overview; the number of windows, batches and dead letters is bounded."""
    report = main_report(summary.policy.reports)
    windows = windows_of(tables, report) if report else []
    lanes, letters = lanes_of(summary), letters_of(tables, listed=_LETTERS)
    newest = letters.rows[0] if letters.rows else None
    return Overview(
        summary=summary,
        report=report,
        windows=windows,
        tops=[newest_top_list(tables, key_report) for key_report in list_reports(summary.policy.reports)],
        lanes=lanes,
        sentences=explain(summary, lanes),
        picture=picture_of(summary, lanes, report, now),
        late=late_windows(tables, windows),
        corrections=corrections_of(tables),
        letters=letters,
        opened=letter_of(tables, schemas, newest[c.BATCH], newest[c.PARTITION], newest[c.OFFSET]) if newest else None,
    )
