"""A warehouse whose values are as long as those of a real site: addresses, ids, numbers, times that clocks repeat."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from tests.dashboard.scene import future, malformed, rejected
from tests.verify.site import MINUTE, NOON, POLICY, Event, Site
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions

DAY: Final = "2024-10-27"
"""The end of summer time in Germany: clocks show the hour from 2 to 3 twice, with the name of the offset."""
_START: Final = 178 * 1440 + 720 + 20
"""02:20 CEST of the day, in minutes after noon of the story's day."""
USERS: Final = tuple(str(UUID(int=n * 0x1234567_89ABCDEF_01234567_89ABCDEF % 2**128)) for n in range(3, 12))
_SHOP: Final = "https://shop.example/de/damen/schuhe"
_CAMPAIGN: Final = "utm_source=newsletter&utm_medium=email&utm_campaign=herbst-2024"
PAGES: Final = (
    f"{_SHOP}/wanderschuhe-wasserdicht-leder-braun?groesse=39&farbe=braun",
    f"{_SHOP}/winterstiefel?filter=marke:alpenglueck,groesse:38-41,preis:50-150&seite=12&{_CAMPAIGN}",
    f"{_SHOP}/{'x' * 150}",
)
_DETAIL: Final = "the field event_time of 'com.example.shop.tracking.v3.PageViewed' is 'nächsten Dienstag', no number"
_TOPIC: Final = "prod.eu-central-1.shop.tracking.page-views.v3"
_COUNTS: Final = ("page_views", "clicks")
_TIMES: Final = ("first_seen", "last_seen")
_HOUR: Final = 60 * MINUTE
REPORTS: Final = (
    Report("traffic_by_hour", Calendar(_HOUR, "Europe/Berlin"), 5 * MINUTE, (), measures=(*_COUNTS, "unique_users")),
    Report("visitors", Grid(10 * MINUTE, 10 * MINUTE), 5 * MINUTE),
    Report("pages", Grid(10 * MINUTE, 5 * MINUTE), 5 * MINUTE, ("page_url",), measures=(*_COUNTS, "unique_users")),
    Report(
        "visitors_by_page_and_kind",
        Calendar(15 * MINUTE, "Europe/Berlin"),
        5 * MINUTE,
        ("user_id", "page_url", "event_type"),
        measures=(*_COUNTS, "last_page_url", *_TIMES),
    ),
    Report("sessions", Sessions(5 * MINUTE), 5 * MINUTE, measures=(*_COUNTS, "last_page_url", *_TIMES)),
)


@dataclass
class LargeSite(Site):
    """A site on which each event counts for millions."""

    def _row(self, event: Event, offset: int, report: Consumer) -> list[dict[str, Any]]:
        rows = super()._row(event, offset, report)
        return [row | {name: row[name] * 1_234_567 for name in _COUNTS} for row in rows]


def long_values(folder: Path) -> None:
    """Writes a warehouse with windows in every state, in which each text is long and each number large."""
    policy = replace(POLICY, strategy=Bounded(MINUTE), idle_timeout_ms=MINUTE, reports=REPORTS)
    time = NOON + _START * MINUTE
    site = LargeSite(folder, policy, position=98_765_432_101, committed_at=time, silent={117: time - _HOUR}).open()
    site.committed_at += 10 * MINUTE
    for minutes in ((1, 3, 3, 4, 5), (12, 13, 14), (9,), (41, 42, 43), (2, 3), (95, 99, 101)):
        site.batch(*(_event(minute, n) for n, minute in enumerate(minutes)))
    site.correct()
    site.committed_at += MINUTE
    letters = [malformed(site, b"\0\0\0\0\1broken"), future(site, USERS[0]), future(site, PAGES[1])]
    rejected(site, *({**letter, "detail": _DETAIL, "topic": _TOPIC} for letter in letters))


def _event(minute: float, n: int) -> Event:
    return Event(_START + minute, USERS[n % len(USERS)], PAGES[n % len(PAGES)], click=n % 2 == 1)
