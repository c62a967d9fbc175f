"""Violations in sessions, growing and count windows and totals, and in their panes, are found, each by its sentence."""

import pytest

from tests.verify.conftest import Copy
from tests.verify.plant import BOUND, Break, E, add, assert_reported, at, change, drop, of_panes

pytestmark = pytest.mark.slow


BREAKS: dict[str, Break] = {
    "a session has another count": (
        "sessions",
        "sessions",
        change({"window_start": at(12)}, clicks=1),
        (
            "sessions: window [2024-05-01T12:12:00Z, 2024-05-01T12:17:00Z) of user_id 'ann' shows 1 clicks, but its "
            f"{BOUND} 0"
        ),
    ),
    "a session has another end": (
        "sessions",
        "sessions",
        change({"window_start": at(12)}, window_end=at(18)),
        "sessions: window [2024-05-01T12:12:00Z, 2024-05-01T12:17:00Z) of user_id 'ann' is not shown",
    ),
    "a session is shorter than its gap": (
        "sessions",
        "sessions",
        change({"window_start": at(12)}, window_end=at(13)),
        "sessions: window [2024-05-01T12:12:00Z, 2024-05-01T12:13:00Z) is 60000 ms long, which does not fit Sessions(",
    ),
    "a session has not ended": (
        "sessions",
        "sessions",
        add({"window_start": at(12)}, window_start=at(31), window_end=at(36)),
        "sessions: window [2024-05-01T12:31:00Z, 2024-05-01T12:36:00Z) has not fired and shows 1 row",
    ),
    "a session's events are gone": (
        "sessions",
        "panes",
        drop(**of_panes("sessions", batch=E + 5)),
        "sessions: found 9 events (8 shown, 0 of them corrected, and 1 in panes), but the ledger has 10",
    ),
    # Windows that grow.
    "a window has not grown by its step": (
        "so_far",
        "so_far",
        change({"window_end": at(10)}, window_end=at(9)),
        "so_far: window [2024-05-01T12:00:00Z, 2024-05-01T12:09:00Z) is 540000 ms long, which does not fit Cumulate(",
    ),
    "a window has grown beyond its size": (
        "so_far",
        "so_far",
        change({"window_end": at(20)}, window_end=at(25)),
        "so_far: window [2024-05-01T12:00:00Z, 2024-05-01T12:25:00Z) is 1500000 ms long, which does not fit Cumulate(",
    ),
    "a window that has grown lacks an event": (
        "so_far",
        "so_far",
        change({"window_end": at(15)}, page_views=5),
        f"so_far: window [2024-05-01T12:00:00Z, 2024-05-01T12:15:00Z) shows 5 page_views, but its {BOUND} 6",
    ),
    # Counts.
    "a count window is missing": (
        "pairs",
        "pairs",
        drop(published_batch=E + 1, page_views=1),
        (
            "pairs: window [2024-05-01T12:01:00Z, 2024-05-01T12:03:00.001Z) of user_id 'ann', full with batch "
            "1000000001 (1 page_views, 1 clicks), is shown 0 times, but its panes fill 1"
        ),
    ),
    "a count window is not full": (
        "pairs",
        "pairs",
        change({"published_batch": E + 1, "page_views": 1}, clicks=0),
        (
            "pairs: window [2024-05-01T12:01:00Z, 2024-05-01T12:03:00.001Z) of user_id 'ann' shows 1 page_views and 0 "
            "clicks in a window of 2 events"
        ),
    ),
    "an event that waits for its window is gone": (
        "pairs",
        "panes",
        drop(**of_panes("pairs", batch=E + 3)),
        "pairs: found 10 events (10 shown, 0 of them corrected, and 0 in panes), but the ledger has 11",
    ),
    # Counts that slide: ann has events at minutes 1, 3, 4.5, 12, 22 and 31.5, and a window after every second of them.
    "a window of the last events has another count": (
        "last_three",
        "last_three",
        change({"user_id": "ann", "window_start": at(3)}, page_views=3, clicks=0),
        (
            "last_three: window [2024-05-01T12:03:00Z, 2024-05-01T12:12:00.001Z) of user_id 'ann', full with batch "
            "1000000002 (2 page_views, 1 clicks), is shown 0 times, but its panes fill 1"
        ),
    ),
    "a first window, of fewer events, is missing": (
        "last_three",
        "last_three",
        drop(user_id="ann", window_start=at(1)),
        "last_three: window [2024-05-01T12:01:00Z, 2024-05-01T12:03:00.001Z) of user_id 'ann', full with batch",
    ),
    "a window of the last events has more events": (
        "last_three",
        "last_three",
        change({"user_id": "ann", "window_start": at(3)}, page_views=3),
        (
            "last_three: window [2024-05-01T12:03:00Z, 2024-05-01T12:12:00.001Z) of user_id 'ann' shows 3 page_views "
            "and 1 clicks, which does not fit windows of the last 3 events, after every 2 events"
        ),
    ),
    "one of the last events is gone": (
        "last_three",
        "panes",
        drop(**of_panes("last_three", batch=E + 3)),
        "last_three: found 10 events (10 in panes), but the ledger has 11",
    ),
    # Totals.
    "a total is too high": (
        "user_totals",
        "user_totals",
        change({"user_id": "bob"}, page_views=9),
        "user_totals: user 'bob' shows 9 page_views, but the panes have 3 page_views",
    ),
    "a user was seen at another time": (
        "user_totals",
        "user_totals",
        change({"user_id": "bob"}, last_seen=at(14)),
        (
            "user_totals: user 'bob' shows last seen 2024-05-01T12:14:00Z, but the panes have last seen "
            "2024-05-01T12:13:00Z"
        ),
    ),
    "a user has other sessions": (
        "user_totals",
        "user_totals",
        change({"user_id": "bob"}, sessions=2),
        "user_totals: user 'bob' shows 2 sessions, but the panes have 1 sessions",
    ),
    "a user is missing": (
        "user_totals",
        "user_totals",
        drop(user_id="bob"),
        "user_totals: user 'bob' is shown 0 times, but has panes of 3 page_views",
    ),
    "a user occurs twice": (
        "user_totals",
        "user_totals",
        add({"user_id": "bob"}),
        "user_totals: user 'bob' occurs 2 times, but must occur once",
    ),
    "a user is in a bucket of others": (
        "user_totals",
        "user_totals",
        change({"user_id": "bob"}, bucket=4),
        "user_totals: user 'bob' is in bucket 4, but belongs in 0",
    ),
    "a user has more sessions than events": (
        "user_totals",
        "user_totals",
        change({"user_id": "bob"}, sessions=5),
        "user_totals: user 'bob' shows 5 sessions of 3 page views and 0 clicks",
    ),
    "a user's panes are gone": (
        "user_totals",
        "panes",
        drop(**of_panes("user_totals", batch=E + 5)),
        "user_totals: found 9 events (9 in panes), but the ledger has 10",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_violation_is_reported(name: str, copy: Copy) -> None:
    assert_reported(BREAKS[name], copy)
