"""The random transcripts that the service plays, few as they are, meet everything together."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import pytest

from tests.transcripts.model import Model
from tests.transcripts.random_transcript import SEEDS, random_transcript
from tests.transcripts.transcript import EPOCH, Row, RowKey, Seen, Transcript
from tests.transcripts.windows import Window

pytestmark = pytest.mark.slow  # it tests the generator alone; the tests that play what it makes are fast

EVERYTHING = {
    *("size", "slide", "step", "offset", "zone", "gap", "count", "a count that slides", "a count that tumbles"),
    *("page_views", "clicks", "events", "another kind", "unique_users", "sessions_begun", "late_events", "first_seen"),
    *("last_page_url by size", "last_page_url by gap", "last_page_url by count"),
    *("first_seen by size", "last_seen by gap"),
    *("entry by size", "exit by gap", "depth by size", "deepest by count"),
    *("bounded", "punctuated", "time_lag"),
    *("event", "ingestion", "processing"),
    *("too_late", "partly_late", "future", "a duplicate", "changed deduplicate"),
    *("unread", "changed settings", "changed reports", "changed of", "changed strategy", "changed totals"),
    *("a lateness that grows", "a lateness that shrinks", "a report that is new", "a report that comes back"),
    *("restart", "event time, bounded, on several partitions"),
    *("a late event takes the begin of a session", "a late event joins sessions of totals"),
    *("a count from two lives", "a count from two partitions", "sessions_begun in two lives", "sessions in two lives"),
}


def test_the_service_meets_everything() -> None:
    met = {what for seed in SEEDS for what in _met(random_transcript(seed))}
    assert met >= EVERYTHING, EVERYTHING - met


def _met(transcript: Transcript) -> Iterator[str]:
    """Words of settings and of tables that have rows, and what happens to the rows."""
    model = Model(transcript)
    seen = [model.play(step) for step in transcript.steps]
    yield from (transcript.value("strategy"), transcript.value("of"))
    yield from ["a duplicate"] * sum(step.duplicates for step in seen)
    yield from (reason for step in seen for _, _, reason in step.dead)
    yield from (word for step in transcript.steps for word in ("restart", "unread") if getattr(step, word))
    if (transcript.value("of"), transcript.value("strategy")) == ("event", "bounded") and len(model.partitions) > 1:
        yield "event time, bounded, on several partitions"
    yield from ["another kind"] * transcript.has_other_kinds
    yield from _changed(transcript)
    for report in transcript.reports:
        words = report.window if seen[-1].tables[report.name] else ()
        yield from words
        yield from [f"a count that {'slides' if 'slide' in words else 'tumbles'}"] * ("count" in words)
        yield from (f"{measure} by {word}" for measure in report.measures for word in words)
    for rows in seen[-1].tables.values():
        yield from _columns(rows)
    for before, after in pairwise(seen):
        yield from _lost(before, after)
    for windows in model.windows.values():
        yield from _counted([window for window in windows if window.is_full()])


def _changed(transcript: Transcript) -> Iterator[str]:
    """Which settings change at restarts."""
    now = transcript
    for step in transcript.steps:
        was, now = now, now.restarted(step.changes)
        yield from ["changed settings"] * bool(step.changes)
        yield from (f"changed {name}" for name in step.changes if was.value(name) != now.value(name))
        earlier = {report.name: report.allowed_lateness_ms for report in was.reports}
        for report in now.reports:
            if report.name not in earlier:
                yield "a report that comes back" if report.name in was.every_report else "a report that is new"
            elif report.allowed_lateness_ms != earlier[report.name]:
                grows = report.allowed_lateness_ms > earlier[report.name]
                yield "a lateness that grows" if grows else "a lateness that shrinks"


def _columns(rows: Mapping[RowKey, Row]) -> Iterator[str]:
    """Yields the measures that count something, and those that do in rows from before and after a restart."""
    for name in {name for row in rows.values() for name in row.values}:
        lives = {row.batch // EPOCH for row in rows.values() if row.values[name]}
        yield from [name] * (len(lives) > 0)
        yield from [f"{name} in two lives"] * (len(lives) > 1)


def _counted(full: Sequence[Window]) -> Iterator[str]:
    """Where the events of a count came from."""
    for window in full:
        yield from ["a count from two lives"] * (len({event.batch // EPOCH for event in window.events}) > 1)
        yield from ["a count from two partitions"] * (len({entry.event.partition for entry in window.events}) > 1)


def _lost(before: Seen, after: Seen) -> Iterator[str]:
    """Yields what only a late event can bring about."""
    for name, rows in before.tables.items():
        for key, row in rows.items():
            new = after.tables[name].get(key, row)
            if new.values.get("sessions_begun", 0) < row.values.get("sessions_begun", 0):
                yield "a late event takes the begin of a session"
            if new.values.get("sessions", 0) < row.values.get("sessions", 0):
                yield "a late event joins sessions of totals"
