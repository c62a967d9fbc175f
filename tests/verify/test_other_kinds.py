"""Events of other kinds than visits and clicks: every invariant counts them, and finds a count that is wrong."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.conservation import assert_conserved
from tests.support.warehouse import rows
from tests.verify.conftest import Copy
from tests.verify.kinds import POLICY_OF_KINDS, play_kinds
from tests.verify.plant import (
    BOUND,
    OF_RESULTS,
    Break,
    E,
    alter,
    assert_reported,
    at,
    change,
    drop,
    notes,
    of_panes,
    sentences,
)
from tests.verify.site import Event, Site
from tidemark.pipeline.amend.erase.erasure import erase_person
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.slow


def test_every_invariant_counts_them(copy: Copy) -> None:
    warehouse = copy("kinds")
    assert_conserved(warehouse)
    counts = {
        (row["event_type"], row["window_start"]): (row["page_views"], row["clicks"], row["events"], row["late_events"])
        for row in rows(warehouse, "kinds")
    }
    # With the login of dan, which was corrected.
    assert counts["login", at(0)] == (0, 0, 2, 1)
    assert counts["purchase", at(0)] == (0, 0, 2, 1)
    assert counts["visit", at(0)] == (1, 0, 1, 0)
    totals = {row["user_id"]: row for row in rows(warehouse, "user_totals")}
    assert [totals["bob"][name] for name in ("page_views", "clicks", "sessions")] == [1, 1, 1]


def test_only_reports_that_count_all_kinds_are_balanced(copy: Copy) -> None:
    told = notes(copy("kinds"))
    assert "page_views does not count every event once" in told
    for name in ("kinds", "users", "acts", "twos"):
        assert f"{name} does not count every event once" not in told


def test_merged_panes_of_older_versions_count_visits_and_clicks(tmp_path: Path) -> None:
    """Their number of events is null in the site's panes."""
    site = play_kinds(tmp_path)
    assert any(row["events"] is None for row in rows(tmp_path, "panes"))
    for minute in range(71, 90):
        site.batch(Event(minute, "eve", other="login"), Event(minute, "eve"))
    site.compact().batch(Event(91, "eve", other="login")).batch(Event(120, "dan"))
    assert_conserved(tmp_path)


BREAKS: dict[str, Break] = {
    "a row has an event too many": (
        "kinds",
        "kinds",
        change({"event_type": "visit", "window_start": at(0)}, events=2),
        f"of event_type 'visit' shows 2 events, but its {BOUND} 1",
    ),
    "a row has fewer events than visits": (
        "kinds",
        "kinds",
        change({"event_type": "visit", "window_start": at(0)}, events=0),
        "of event_type 'visit' shows 1 page_views and 0 clicks and 0 events, of which 0 came late",
    ),
    "a row that counts events alone lacks one": (
        "kinds",
        "users",
        change({"user_id": "bob", "window_start": at(0)}, events=2),
        f"of user_id 'bob' shows 2 events, but its {BOUND} 3",
    ),
    "a session lacks an event": (
        "kinds",
        "acts",
        change({"user_id": "bob", "window_start": at(3)}, events=1),
        f"of user_id 'bob' shows 1 events, but its {BOUND} 4",
    ),
    "a count window has another number of events": (
        "kinds",
        "twos",
        change({"published_batch": E + 1, "page_views": 1}, events=3),
        "shows 1 page_views and 0 clicks and 3 events in a window of 2 events",
    ),
    "panes count fewer events than visits and clicks": (
        "kinds",
        "panes",
        change(of_panes("user_totals", batch=E + 2, user_id="bob"), events=0),
        f"user_totals: panes of batch {E + 2} have 1 page view and 0 clicks among 0 events",
    ),
    "a purchase is gone from the panes of users": (
        "kinds",
        "panes",
        drop(**of_panes("user_totals", batch=E + 3)),
        "user_totals: found 11 events (11 in panes), but the ledger has 12",
    ),
    "a row of results is gone": (
        "kinds",
        "users",
        drop(user_id="bob", window_start=at(0)),
        f"users: window [2024-05-01T12:00:00Z, 2024-05-01T12:10:00Z) of user_id 'bob' is not shown, but its {BOUND} 3",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_violation_is_reported(name: str, copy: Copy) -> None:
    assert_reported(BREAKS[name], copy)


def test_a_warehouse_of_visits_and_clicks_has_no_other_events(tmp_path: Path) -> None:
    site = Site(tmp_path, replace(POLICY_OF_KINDS, has_other_kinds=False)).open()
    site.batch(Event(1), Event(2, click=True))
    assert_conserved(tmp_path)
    alter(tmp_path, "panes", change(of_panes("kinds", event_type="click"), events=2))
    assert f"kinds: panes of batch {E + 1} have 0 page views and 1 click among 2 events" in sentences(
        tmp_path, OF_RESULTS
    )


def test_a_user_is_erased_with_events_of_every_kind(copy: Copy) -> None:
    warehouse = copy("kinds")
    erase_person(Settings(warehouse=str(warehouse)), "bob", timedelta(0))
    assert_conserved(warehouse)
    erased = {row["table"]: row["events"] for row in rows(warehouse, "erasures")}
    assert (erased["users"], erased["acts"], erased["twos"], erased["user_totals"]) == (4, 4, 4, 4)
    assert erased["page_views"] is None, "its rows do not count purchases"
