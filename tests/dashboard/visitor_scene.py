"""Nine days of a site with `[site]`, made without Spark, as pages about visitors show them."""

from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa
from deltalake import write_deltalake

from tests.verify.site import MINUTE, NOON, Event, Site
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.handle import create_table
from tidemark.pipeline.tables.schemas import ERASURES

DAY: Final = 24 * 60
"""In minutes."""
TODAY: Final = "2024-05-10"
YESTERDAY: Final = "2024-05-09"
WEEK_BEFORE: Final = "2024-05-02"
NOW: Final = NOON + (9 * DAY + 37) * MINUTE
"""Friday 2024-05-10, 14:37 in Berlin: as far as the events go. The first day is Wednesday 2024-05-01."""
HOST: Final = "search.example"
OTHER_HOST: Final = "news.example"


def visitors(folder: Path) -> Site:
    """Ann comes every day by a search, bob every second day and stays on one page, others come once.

    Visits are at noon and in the evening of UTC. Today has two visits, and one that is still going.
    """
    settings = Settings(site={"zone": "Europe/Berlin"}, totals={})  # type: ignore[arg-type]
    policy = replace(settings.policy(), strategy=Bounded(MINUTE))
    site = Site(folder, policy, committed_at=NOON).open()
    for first in (0, 5):
        site.committed_at = NOON + (min(first + 4, 8) * DAY + 12 * 60) * MINUTE
        site.batch(*(event for day in range(first, min(first + 5, 9)) for event in _day(day)))
    _maintain(site)
    site.committed_at = NOW - 5 * MINUTE
    at = 9 * DAY - 240
    site.batch(*_visit(at, "ann", HOST, "/", "/shop", "/buy"), *_visit(at + 90, "new", None, "/"))
    site.committed_at = NOW
    return site.batch(*_visit(9 * DAY + 20, "ann", None, "/shop"), Event(9 * DAY + 38, "ann", "/shop"))


def _maintain(site: Site) -> None:
    """A correction of yesterday; today two outages, a restart, lost records and an erasure."""
    site.batch(Event(8 * DAY - 300, "late", "/help")).correct()
    for minutes in (420, 120, 119):
        site.committed_at = NOW - minutes * MINUTE
        site.open()
        site.batch()
    erased = {"erasure": 1, "erased_at": NOW - 90 * MINUTE, "table": "user_totals", "rows": 1, "events": 3}
    create_table(ERASURES, str(site.warehouse))
    write_deltalake(ERASURES.uri(str(site.warehouse)), pa.Table.from_pylist([erased], ERASURES.schema), mode="append")
    site.number += 1
    site._commit(site.watermark, 0, lost=7, to_offset=site.position + 7)
    site.position += 7


def _day(day: int) -> list[Event]:
    """Returns the events of the day from noon on: in the order of time."""
    start = day * DAY
    visits = [_visit(start, "ann", HOST, "/", "/shop", "/buy"), _visit(start + 5, f"guest-{day}", OTHER_HOST, "/help")]
    if day % 2 == 0:
        visits.append(_visit(start + 420, "bob", None, "/shop"))
    return sorted((event for visit in visits for event in visit), key=lambda event: event.minute)


def _visit(start: float, user: str, host: str | None, *pages: str) -> list[Event]:
    """Returns the views of a visit, a minute apart, each but the last with a click; the first comes from `host`."""
    events = list[Event]()
    for index, page in enumerate(pages):
        events.append(Event(start + index, user, page, host=None if index else host))
        if index + 1 < len(pages):
            events.append(Event(start + index + 0.5, user, page, click=True))
    return events
