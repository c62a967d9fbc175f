"""Violations in windows with fixed ends, and in their panes, are found, each by its sentence."""

import pytest

from tests.verify.conftest import Copy
from tests.verify.plant import BOUND, Break, E, add, assert_reported, at, change, drop, ms, of_panes

pytestmark = pytest.mark.slow

FIRST = {"window_start": at(0)}
FIRST_ANN = FIRST | {"user_id": "ann"}
LANDED = FIRST | {"page_url": "/"}
TEN = "window [2024-05-01T12:00:00Z, 2024-05-01T12:10:00Z)"
ODD_HOUR = {"window_start": at(-60), "window_end": at(-10), "page_views": 1, "clicks": 0, "late_events": 0} | {
    "published_batch": E + 1
}


BREAKS: dict[str, Break] = {
    # Windows with fixed ends.
    "a count is too high": (
        "page_views",
        "page_views",
        change(FIRST_ANN, page_views=9),
        f"page_views: {TEN} of user_id 'ann' shows 9 page_views, but its {BOUND} 2",
    ),
    "clicks are too few": (
        "page_views",
        "page_views",
        change(FIRST_ANN, clicks=0),
        f"page_views: {TEN} of user_id 'ann' shows 0 clicks, but its {BOUND} 1",
    ),
    "too many came late": (
        "page_views",
        "page_views",
        change(FIRST_ANN, late_events=1),
        f"page_views: {TEN} of user_id 'ann' shows 1 late_events, but its {BOUND} 0",
    ),
    "a count is another user's": (
        "page_views",
        "page_views",
        change(FIRST_ANN, user_id="eve"),
        f"page_views: {TEN} of user_id 'eve' shows 2 page_views, 1 clicks, 0 late_events, but its {BOUND} 0 of it",
    ),
    "a cell is missing": (
        "page_views",
        "page_views",
        drop(**FIRST_ANN),
        f"page_views: {TEN} of user_id 'ann' is not shown, but its {BOUND} 2 page_views, 1 clicks, 0 late_events",
    ),
    "a window lost some panes": (
        "page_views",
        "panes",
        drop(**of_panes("page_views", user_id="ann", pane_start=ms(0))),
        f"page_views: {TEN} of user_id 'ann' shows 2 page_views, 1 clicks, 0 late_events, but its {BOUND} 0 of it",
    ),
    "a window lost all panes and is not closed": (
        "page_views",
        "panes",
        drop(**of_panes("page_views", pane_start=ms(20))),
        (
            "page_views: window [2024-05-01T12:20:00Z, 2024-05-01T12:30:00Z) shows 1 row and has 0 panes, though only "
            "windows that end at 2024-05-01T12:27:00Z or before have closed"
        ),
    ),
    "a pane is uncommitted": (
        "page_views",
        "panes",
        change(of_panes("page_views", batch=E + 3), batch=E + 9),
        (
            f"page_views: {TEN} of user_id 'bob' shows 2 page_views, but its {BOUND} 1 and 1 late_events, but its "
            f"{BOUND} 0"
        ),
    ),
    "a pane came when its window had closed": (
        "page_views",
        "panes",
        change(of_panes("page_views", batch=E + 3), closed_until=ms(10)),
        f"page_views: {TEN} of user_id 'bob' shows 2 page_views, but its {BOUND} 1",
    ),
    "a row occurs twice": (
        "page_views",
        "page_views",
        add(FIRST_ANN),
        f"page_views: {TEN} of user_id 'ann' occurs 2 times, but must occur once",
    ),
    "a window has not fired": (
        "page_views",
        "page_views",
        add(FIRST_ANN, window_start=at(40), window_end=at(50)),
        (
            "page_views: window [2024-05-01T12:40:00Z, 2024-05-01T12:50:00Z) has not fired and shows 1 row: the "
            "watermark of batch 1000000004, its last publication, is 2024-05-01T12:31:30Z"
        ),
    ),
    "a window has another size": (
        "page_views",
        "page_views",
        change(FIRST_ANN, window_end=at(5)),
        "page_views: window [2024-05-01T12:00:00Z, 2024-05-01T12:05:00Z) is 300000 ms long, which does not fit Grid(",
    ),
    "a window is off the grid": (
        "page_views",
        "page_views",
        change(FIRST_ANN, window_start=at(1), window_end=at(11)),
        "page_views: window [2024-05-01T12:01:00Z, 2024-05-01T12:11:00Z) is 600000 ms long, which does not fit Grid(",
    ),
    "there are more late events than events": (
        "page_views",
        "page_views",
        change(FIRST_ANN, late_events=4),
        f"page_views: {TEN} of user_id 'ann' shows 2 page_views and 1 clicks, of which 4 came late",
    ),
    "a row has no events": (
        "page_views",
        "page_views",
        add(FIRST_ANN, user_id="eve", page_views=0, clicks=0),
        f"page_views: {TEN} of user_id 'eve' shows 0 page_views and 0 clicks",
    ),
    "a row was published by an unknown batch": (
        "page_views",
        "page_views",
        change(FIRST_ANN, published_batch=E + 77),
        "page_views: 1 row of batch 1000000077, which the ledger does not have up to batch 1000000004",
    ),
    "an event that waits is gone": (
        "page_views",
        "panes",
        drop(**of_panes("page_views", batch=E + 5)),
        (
            "page_views: found 9 events (8 shown, 0 of them corrected, and 1 in panes), but the ledger has 10 that "
            "were counted since epoch 1, of which 0 came too late for this report"
        ),
    ),
    "an event waits twice": (
        "page_views",
        "panes",
        add(of_panes("page_views", batch=E + 5)),
        "page_views: found 11 events (8 shown, 0 of them corrected, and 3 in panes), but the ledger has 10",
    ),
    # Windows that overlap, follow the calendar, or count users.
    "a window that overlaps others shows too little": (
        "pages",
        "pages",
        change({"window_start": at(5), "page_url": "/"}, page_views=1),
        (
            "pages: window [2024-05-01T12:05:00Z, 2024-05-01T12:15:00Z) of page_url '/' shows 1 page_views, but its "
            f"{BOUND} 3"
        ),
    ),
    "an hour is shorter than an hour": (
        "days",
        "days",
        lambda rows: [*rows, ODD_HOUR],
        (
            "days: window [2024-05-01T11:00:00Z, 2024-05-01T11:50:00Z) is no window of 3600000 ms by the calendar of "
            "Europe/Berlin, but 3000000 ms long"
        ),
    ),
    "the events of a day are fewer than counted": (
        "days",
        "panes",
        drop(**of_panes("days", batch=E + 1)),
        "days: found 7 events (0 shown, 0 of them corrected, and 7 in panes), but the ledger has 11",
    ),
    "a count of users is too high": (
        "landings",
        "landings",
        change(LANDED, unique_users=3),
        f"landings: {TEN} of page_url '/' shows 3 unique_users, but its panes have 2",
    ),
    "a count of sessions is too high": (
        "landings",
        "landings",
        change(LANDED, sessions_begun=2),
        f"landings: {TEN} of page_url '/' shows 2 sessions_begun, but its {BOUND} 1",
    ),
    "a sketch has other users": (
        "readers",
        "readers",
        change(LANDED, unique_users=3),
        f"readers: {TEN} of page_url '/' shows 3 unique_users, but its panes have 2",
    ),
    "a user counts twice": (
        "each_reader",
        "each_reader",
        change(FIRST_ANN, unique_users=2),
        f"each_reader: {TEN} of user_id 'ann' shows 2 unique_users, but its panes have 1",
    ),
    "a user was seen earlier": (
        "ends",
        "ends",
        change(FIRST_ANN, first_seen=at(2)),
        f"ends: {TEN} of user_id 'ann' shows first_seen 2024-05-01T12:02:00Z, but its {BOUND} 2024-05-01T12:01:00Z",
    ),
    "a user was seen in another window": (
        "ends",
        "ends",
        change(FIRST_ANN, last_seen=at(10)),
        "and last_seen at 2024-05-01T12:10:00Z, which does not fit",
    ),
    "the last page is an earlier one": (
        "ends",
        "ends",
        change(FIRST | {"user_id": "bob"}, last_page=f"{ms(4):019d} /a", last_page_url="/a"),
        f"ends: {TEN} of user_id 'bob' shows last_page_url '{ms(4):019d} /a', but its {BOUND} '{ms(8.5):019d} /'",
    ),
    "the last page has another time": (
        "ends",
        "ends",
        change(FIRST | {"user_id": "bob"}, last_page_url="/a"),
        f"ends: {TEN} of user_id 'bob' shows last_page_url at 2024-05-01T12:08:30Z and first_seen",
    ),
    "a session does not start when its user was first seen": (
        "visits",
        "visits",
        change({"user_id": "ann", "window_start": at(1)}, first_seen=at(3)),
        "of user_id 'ann' shows last_page_url at 2024-05-01T12:04:30Z and first_seen at 2024-05-01T12:03:00Z",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_violation_is_reported(name: str, copy: Copy) -> None:
    assert_reported(BREAKS[name], copy)
