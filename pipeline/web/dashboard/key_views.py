"""Reads the page of a user or of a page of the site, and the search for one."""

from tidemark.pipeline import columns as c
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.reading.periods.ask import Asker, default_zone
from tidemark.pipeline.reading.table_reader import CurrentTables
from tidemark.pipeline.web.dashboard.key_history import history_of
from tidemark.pipeline.web.dashboard.key_search import has_pseudonyms, search
from tidemark.pipeline.web.dashboard.live_page import Content
from tidemark.pipeline.web.dashboard.page_days import days_of
from tidemark.pipeline.web.dashboard.user_visits import visits_of


class KeyViews:
    """Readings of pages of users and pages of one warehouse."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def history(
        self, key: str, value: str, until: int | None, tables: CurrentTables, summary: LedgerSummary
    ) -> Content:
        """Returns the page of a value of `key`, which is `user_id` or `page_url`, up to the time `until` (ms)."""
        sources, is_user = self._asker.sources(tables, summary), key == c.USER_ID
        history = history_of(tables, summary, key, value)
        values = {
            "history": history,
            "known": {report.name: sources.known_since(report.name) for report, _ in history.pages},
            "key": key,
            "value_of_key": value,
            "visits": visits_of(tables, sources, value, until) if is_user else None,
            "days": None if is_user else days_of(tables, sources, value, until),
            "until": until,
            "has_pseudonyms": is_user and has_pseudonyms(tables, summary),
            "zone": default_zone(summary.policy.reports),
        }
        return Content("history.html", values, is_past=until is not None)

    def search(self, key: str, prefix: str, tables: CurrentTables, summary: LedgerSummary) -> Content:
        """Returns the values of `key` that start with `prefix`; an empty prefix finds nothing yet."""
        sources = self._asker.sources(tables, summary)
        found = search(tables, sources, key, prefix) if prefix else None
        is_hidden = key == c.USER_ID and has_pseudonyms(tables, summary)
        zone = default_zone(summary.policy.reports)
        values = {"found": found, "key": key, "prefix": prefix, "has_pseudonyms": is_hidden, "zone": zone}
        return Content("search.html", values)
