"""The verifier's sessions are those that come of taking one event after the other, in the order in which they came.

time      0    5    10   15   20    gap 5, allowed lateness 3
batch 1   x  x                      one session, [0, 8)
batch 2                  x          the watermark comes to 15: [0, 8) has closed
batch 3      x                      too late: not counted
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.support.seeds import SEED
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.tables.query import query
from tidemark.pipeline.tables.schemas import PANES
from tidemark.pipeline.verifier import queries
from tidemark.pipeline.verifier.published_results import PublishedReport
from tidemark.pipeline.verifier.session_sums import with_sessions

GAP, LATENESS, BATCHES = 5, 3, 7
SESSIONS = Report("sessions", Sessions(GAP), LATENESS)
PUBLISHED = PublishedReport("sessions", BATCHES, 0, 0, 0, 0, 0, 0, True, (1,), SESSIONS)


class Event(NamedTuple):
    """An event that was in time."""

    user: str
    batch: int
    time: int
    closed: int
    """Sessions that ended no later had closed when it came."""


class Session(NamedTuple):
    """A session, `[start, end)`, and how many events it has."""

    user: str
    start: int
    end: int
    events: int


def stream(user: str, chance: Random) -> Iterator[Event]:
    """The events of a user that are in time; after each batch the watermark may move."""
    watermark = 0
    for batch in range(1, BATCHES + 1):
        closed = watermark - LATENESS if watermark else rules.NO_WATERMARK
        earliest = max(0, closed - GAP + 1)
        times = [earliest + chance.randrange(30) for _ in range(chance.randrange(4))]
        yield from (Event(user, batch, time, closed) for time in times)
        watermark = chance.randint(watermark, max([watermark, *times]))


def one_after_the_other(events: list[Event]) -> set[Session]:
    """Each event joins the sessions of its user that it meets and that had not closed when it came."""
    found = set[Session]()
    for event in events:
        alone = Session(event.user, event.time, event.time + GAP, 1)
        met = {one for one in found if one.end > event.closed and one.start <= alone.end and alone.start <= one.end}
        merged = [alone, *met]
        bounds = min(one.start for one in merged), max(one.end for one in merged)
        found = (found - met) | {Session(event.user, *bounds, sum(one.events for one in merged))}
    return found


def panes(events: list[Event]) -> pa.Table:
    """Events of a user and batch in one stretch of a gap are one row."""
    grouped = defaultdict[tuple[str, int, int, int], list[int]](list)
    for event in events:
        grouped[event.user, event.batch, event.closed, event.time // GAP].append(event.time)
    rows = [
        {"report": "sessions", "user_id": user, "batch": batch, "closed_until": closed, "pane_start": pane * GAP}
        | {"first_time": min(times), "last_time": max(times), "page_views": len(times), "clicks": 0, "late_events": 0}
        for (user, batch, closed, pane), times in grouped.items()
    ]
    return pa.Table.from_pylist(rows, schema=PANES.schema)


@pytest.mark.parametrize("users", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_sessions_are_those_of_one_event_after_the_other(users: int, tmp_path: Path) -> None:
    streams = [list(stream(f"user-{number}", Random(f"{SEED} {number}"))) for number in range(users)]
    write_deltalake(tmp_path / "panes", panes([event for events in streams for event in events]))
    write_deltalake(tmp_path / "ledger", pa.table({"batch": pa.array(range(1, BATCHES + 1), pa.int64())}))
    tables = {name: DeltaTable(tmp_path / name) for name in ("panes", "ledger")}
    found = query(f"{with_sessions(PUBLISHED, Sessions(GAP))} SELECT * FROM sessions", **tables).to_pylist()  # noqa: S608 - ours
    due = {session for events in streams for session in one_after_the_other(events)}
    assert len(found) == len(due)
    assert {Session(row["user_id"], row["start_ms"], row["end_ms"], row["page_views"]) for row in found} == due

    swept = queries.sweep_sql("spans", ["user_id"], "first_time", f"last_time + {GAP}")
    ends = f"WITH spans AS (SELECT * FROM panes) SELECT count(*) AS n FROM ({swept}) AS swept WHERE open = 0"  # noqa: S608 - ours
    never_closed = [[event._replace(closed=rules.NO_WATERMARK) for event in events] for events in streams]
    assert query(ends, **tables)["n"][0].as_py() == sum(len(one_after_the_other(events)) for events in never_closed)
