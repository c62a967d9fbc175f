"""Events of other kinds than visits and clicks: every invariant counts them, and finds a count that is wrong."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.conservation import assert_conserved
from tests.support.warehouse import rows
from tests.verify.plant import BOUND, OF_RESULTS, E, Rows, alter, at, change, drop, notes, of_panes, sentences
from tests.verify.site import MINUTE, POLICY, REPORTS, Event, Site
from tidemark.pipeline.amend.erase.erasure import erase_person
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.count import Counts
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.slow
ALL = ("page_views", "clicks", "events")
GRID = Grid(10 * MINUTE, 10 * MINUTE)
LATE_MS = 5 * MINUTE
BY_KIND = Report("kinds", GRID, LATE_MS, keys=("event_type",), measures=ALL)
EVENTS_ALONE = Report("users", GRID, LATE_MS, measures=("events",))
ACTS = Report("acts", Sessions(5 * MINUTE), LATE_MS, measures=("clicks", "events"))
PAIRS = Report("twos", Counts(2), 0, measures=ALL)
POLICY_OF_KINDS = replace(POLICY, reports=(REPORTS[0], BY_KIND, EVENTS_ALONE, ACTS, PAIRS), has_other_kinds=True)


def play(warehouse: Path) -> Site:
    """Windows fire at 10, 20 and 30 minutes; the first again, with a late purchase; one login comes too late.

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
    return site.batch(Event(70, "dan"))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    warehouse = tmp_path_factory.mktemp("other-kinds")
    play(warehouse).correct()
    return warehouse


@pytest.fixture
def copied(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "warehouse"))


def test_every_invariant_counts_them(sound: Path) -> None:
    assert_conserved(sound)
    counts = {
        (row["event_type"], row["window_start"]): (row["page_views"], row["clicks"], row["events"], row["late_events"])
        for row in rows(sound, "kinds")
    }
    # With the login of dan, which was corrected.
    assert counts["login", at(0)] == (0, 0, 2, 1)
    assert counts["purchase", at(0)] == (0, 0, 2, 1)
    assert counts["visit", at(0)] == (1, 0, 1, 0)
    totals = {row["user_id"]: row for row in rows(sound, "user_totals")}
    assert [totals["bob"][name] for name in ("page_views", "clicks", "sessions")] == [1, 1, 1]


def test_only_reports_that_count_all_kinds_are_balanced(sound: Path) -> None:
    told = notes(sound)
    assert "page_views does not count every event once" in told
    for name in ("kinds", "users", "acts", "twos"):
        assert f"{name} does not count every event once" not in told


def test_merged_panes_of_older_versions_count_visits_and_clicks(tmp_path: Path) -> None:
    """Their number of events is null in the site's panes."""
    site = play(tmp_path)
    assert any(row["events"] is None for row in rows(tmp_path, "panes"))
    for minute in range(71, 90):
        site.batch(Event(minute, "eve", other="login"), Event(minute, "eve"))
    site.compact().batch(Event(91, "eve", other="login")).batch(Event(120, "dan"))
    assert_conserved(tmp_path)


BREAKS: dict[str, tuple[str, Callable[[Rows], Rows], str]] = {
    "a row has an event too many": (
        "kinds",
        change({"event_type": "visit", "window_start": at(0)}, events=2),
        f"of event_type 'visit' shows 2 events, but its {BOUND} 1",
    ),
    "a row has fewer events than visits": (
        "kinds",
        change({"event_type": "visit", "window_start": at(0)}, events=0),
        "of event_type 'visit' shows 1 page_views and 0 clicks and 0 events, of which 0 came late",
    ),
    "a row that counts events alone lacks one": (
        "users",
        change({"user_id": "bob", "window_start": at(0)}, events=2),
        f"of user_id 'bob' shows 2 events, but its {BOUND} 3",
    ),
    "a session lacks an event": (
        "acts",
        change({"user_id": "bob", "window_start": at(3)}, events=1),
        f"of user_id 'bob' shows 1 events, but its {BOUND} 4",
    ),
    "a count window has another number of events": (
        "twos",
        change({"published_batch": E + 1, "page_views": 1}, events=3),
        "shows 1 page_views and 0 clicks and 3 events in a window of 2 events",
    ),
    "panes count fewer events than visits and clicks": (
        "panes",
        change(of_panes("user_totals", batch=E + 2, user_id="bob"), events=0),
        f"user_totals: panes of batch {E + 2} have 1 page view and 0 clicks among 0 events",
    ),
    "a purchase is gone from the panes of users": (
        "panes",
        drop(**of_panes("user_totals", batch=E + 3)),
        "user_totals: found 11 events (11 in panes), but the ledger has 12",
    ),
    "a row of results is gone": (
        "users",
        drop(user_id="bob", window_start=at(0)),
        f"users: window [2024-05-01T12:00:00Z, 2024-05-01T12:10:00Z) of user_id 'bob' is not shown, but its {BOUND} 3",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_violation_is_reported(name: str, copied: Path) -> None:
    table, how, sentence = BREAKS[name]
    alter(copied, table, how)
    assert sentence in sentences(copied, OF_RESULTS)


def test_a_warehouse_of_visits_and_clicks_has_no_other_events(tmp_path: Path) -> None:
    site = Site(tmp_path, replace(POLICY_OF_KINDS, has_other_kinds=False)).open()
    site.batch(Event(1), Event(2, click=True))
    assert_conserved(tmp_path)
    alter(tmp_path, "panes", change(of_panes("kinds", event_type="click"), events=2))
    assert f"kinds: panes of batch {E + 1} have 0 page views and 1 click among 2 events" in sentences(
        tmp_path, OF_RESULTS
    )


def test_a_user_is_erased_with_events_of_every_kind(copied: Path) -> None:
    erase_person(Settings(warehouse=str(copied)), "bob", timedelta(0))
    assert_conserved(copied)
    erased = {row["table"]: row["events"] for row in rows(copied, "erasures")}
    assert (erased["users"], erased["acts"], erased["twos"], erased["user_totals"]) == (4, 4, 4, 4)
    assert erased["page_views"] is None, "its rows do not count purchases"
