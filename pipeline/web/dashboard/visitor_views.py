"""Reads the first page from the tables; a question without an answer is a page, too, and says what to change."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus

from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.reading.periods.ask import Asker, BadQuestion, Uncompared, Words
from tidemark.pipeline.reading.periods.period import Compare
from tidemark.pipeline.reading.periods.period_tables import PeriodTables
from tidemark.pipeline.reading.periods.period_traffic import compared_series
from tidemark.pipeline.reading.table_reader import CurrentTables
from tidemark.pipeline.settings.dashboard_settings import Panel
from tidemark.pipeline.web.dashboard.annotations import annotations_of
from tidemark.pipeline.web.dashboard.live_page import Content
from tidemark.pipeline.web.dashboard.traffic_answers import QUARTER_MS, words_of
from tidemark.pipeline.web.dashboard.visitor_page import DEFAULT_COMPARE, periods, visitor_page
from tidemark.pipeline.web.dashboard.visitor_panels import panel_rows, unknown_lists
from tidemark.pipeline.web.dashboard.visitors_now import visitors_now
from tidemark.pipeline.web.pages.page_text import address, sentence_case


class VisitorViews:
    """Readings of the first page of one warehouse."""

    def __init__(self, asker: Asker, panels: Sequence[Panel]) -> None:
        """`panels` are those of the page, in their order."""
        self._asker, self._panels = asker, panels

    def read(
        self, given: Sequence[tuple[str, str]], now: int, tables: CurrentTables, summary: LedgerSummary | None
    ) -> Content:
        """Returns the page for the parameters `given`, at the clock `now` (ms)."""
        if summary is None:
            return Content("empty.html", {})
        try:
            words = words_of(given, DEFAULT_COMPARE)
            return self._answered(words, now, tables, summary)
        except BadQuestion as error:
            values = {"sentence": f"{sentence_case(str(error))}.", "periods": periods("", partial(address, "/"))}
            return Content("unanswered.html", values, status=HTTPStatus.BAD_REQUEST)

    def _answered(self, words: Words, now: int, tables: CurrentTables, summary: LedgerSummary) -> Content:
        incomparable = ""
        try:
            traffic = self._asker.ask(words, tables, summary, now)
        except Uncompared as error:  # the numbers of the period are known
            incomparable = error.why
            traffic = self._asker.ask(replace(words, compare=Compare.NONE), tables, summary, now)
        if traffic is None:
            return Content("empty.html", {})
        before = compared_series(traffic, PeriodTables(tables), now)
        annotations = annotations_of(tables, summary, traffic.question.period)
        page = visitor_page(traffic, before, annotations, words, now, incomparable)
        current = visitors_now(tables, traffic.sources, traffic.question.period, words.only)
        rows, unknown = panel_rows(self._panels, page.lists), unknown_lists(self._panels, page.lists)
        values = {"page": page, "rows": rows, "unknown": unknown, "current": current, "zone": page.zone}
        return Content("visitors.html", values, moves_ms=QUARTER_MS)
