"""Visits without a text are one row of a breakdown, whether the text is empty, null or unknown: against a recount."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.periods.traffic_site import FIRST
from tests.verify.site import MINUTE, NOON, Event, Site
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.reading.periods.ask import Words
from tidemark.pipeline.reading.periods.period_report import period_traffic
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.slow
HOSTS = ("news.example", None, "search.example", None, None)
PAGES = ("/", None, "", "/a", None, "")


def visits() -> list[Event]:
    """Returns a visit of one event for each pair of a host and a page."""
    pairs = [(host, page) for host in HOSTS for page in PAGES]
    return [Event(number, f"user-{number}", page, host=host) for number, (host, page) in enumerate(pairs)]


def recount(texts: Iterable[str | None]) -> list[tuple[str | None, int]]:
    """Returns each text with its number, the highest first."""
    return sorted(Counter(text or None for text in texts).items(), key=lambda row: (-row[1], row[0] is None, row[0]))


def test_visits_without_a_text_are_one_row(tmp_path: Path) -> None:
    settings = Settings(site={"zone": "UTC"}, totals={})  # type: ignore[arg-type]
    site = Site(tmp_path, replace(settings.policy(), strategy=Bounded(MINUTE)), committed_at=NOON).open()
    late = Event(5, "late", "/a", host="news.example")
    site.batch(*visits()).batch(Event(3000)).batch(late).correct()
    words = Words.checked(f"{FIRST}..{FIRST}", "none", "UTC", {})
    breakdowns = period_traffic(str(tmp_path), words, waits=True, clock=lambda: NOON).breakdowns

    def rows(name: str) -> list[tuple[str | None, int | None]]:
        return [(row.key, row.values["visits"]) for row in breakdowns[name].rows]

    # A visit that consists of a correction has no texts: they are unknown.
    assert rows("visits_by_referring_host") == recount([*(event.host for event in visits()), None])
    assert rows("entries") == rows("exits") == recount([*(event.page for event in visits()), None])
