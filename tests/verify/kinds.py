"""A site with events of other kinds than visits and clicks."""

from dataclasses import replace
from pathlib import Path

from tests.verify.site import MINUTE, POLICY, REPORTS, Event, Site
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.count import Counts
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions

ALL = ("page_views", "clicks", "events")
GRID = Grid(10 * MINUTE, 10 * MINUTE)
LATE_MS = 5 * MINUTE
BY_KIND = Report("kinds", GRID, LATE_MS, keys=("event_type",), measures=ALL)
EVENTS_ALONE = Report("users", GRID, LATE_MS, measures=("events",))
ACTS = Report("acts", Sessions(5 * MINUTE), LATE_MS, measures=("clicks", "events"))
PAIRS = Report("twos", Counts(2), 0, measures=ALL)
POLICY_OF_KINDS = replace(POLICY, reports=(REPORTS[0], BY_KIND, EVENTS_ALONE, ACTS, PAIRS), has_other_kinds=True)


def play_kinds(warehouse: Path) -> Site:
    """Windows fire at 10, 20 and 30 minutes; the first again, with a late purchase. A login that is too late is added.

    time     0                10               20       30        70
    ann      visit login      login                     click
    bob      click purchase            visit
    late             purchase of bob   (batch 3)        login of dan (batch 5)
    """
    site = Site(warehouse, POLICY_OF_KINDS).open()
    site.batch(Event(1), Event(2, other="login"), Event(3, "bob", click=True), Event(4, "bob", other="purchase"))
    site.batch(Event(12, other="login"), Event(13, "bob"))
    site.batch(Event(8, "bob", other="purchase"))
    site.batch(Event(22), Event(31, click=True))
    site.batch(Event(5, "dan", other="login"), Event(32, "dan", other="login"))
    return site.batch(Event(70, "dan")).correct()
