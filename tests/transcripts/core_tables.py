"""Result tables in plain Python: rows of the windows that the pure core makes due, and of no others."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from tests.transcripts.transcript import Counted, Report, Row, RowKey, Tables, Totals, Transcript
from tests.transcripts.windows import sessions_of
from tidemark.pipeline.event_time import lateness
from tidemark.pipeline.event_time.firing import CountsDue, Firing, PublicationState, SessionsDue, TotalsDue, WindowsDue
from tidemark.pipeline.event_time.reports import Report as CoreReport
from tidemark.pipeline.event_time.window_states import Firings
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.event_time.windows.session import Sessions


class Entry(NamedTuple):
    """A row of a table with its key, which several count windows may share."""

    key: RowKey
    row: Row


class CoreTables:
    """The events that count, by report, and the rows that are published of them."""

    def __init__(self) -> None:
        self.counted = defaultdict[str, list[Counted]](list)
        self.published = defaultdict[str, PublicationState](PublicationState)
        self._entries = defaultdict[str, list[Entry]](list)

    def publish(self, firings: Firings, batch: int, transcript: Transcript, reports: Mapping[str, CoreReport]) -> None:
        """Publishes what is due from the events up to `batch`."""
        for name, firing in firings.items():
            kept, new = self._changed(firing, batch, transcript, reports.get(name))
            self._entries[name] = [*kept, *new]
            closed_until = max(self.published[name].closed_until, firing.closed_until)
            self.published[name] = PublicationState(batch, closed_until)

    def close(self, name: str, until: int) -> None:
        """Closes the windows of a report that is removed, and forgets its events."""
        closed_until = max(self.published[name].closed_until, until)
        self.published[name] = PublicationState(self.published[name].batch, closed_until)
        self.counted[name] = []

    def tables(self, transcript: Transcript) -> Tables:
        """Returns the whole of every table that there is or was."""
        tables = {name: report.table(self._entries[name]) for name, report in transcript.every_report.items()}
        totals = transcript.every_totals
        return tables | ({totals.name: dict(self._entries[totals.name])} if totals else {})

    def _changed(
        self, firing: Firing, batch: int, transcript: Transcript, core: CoreReport | None
    ) -> tuple[Iterable[Entry], Iterable[Entry]]:
        """Returns the rows that stay, and those that are new."""
        if isinstance(firing, TotalsDue):
            assert transcript.totals
            return [], self._totals(transcript.totals)
        assert core
        report, entries = transcript.every_report[core.name], self._entries[core.name]
        windows, counted = core.windows, self.counted[core.name]
        match firing:
            case WindowsDue():
                ends = firing.fired | firing.refired
                assert not firing.fired & {entry.key[-1] for entry in entries}, "a window fires for the first time once"
                kept = [entry for entry in entries if entry.key[-1] not in ends]
                new = [row for end in ends for row in periodic(report, cast(Periodic, windows), counted, end, firing)]
            case SessionsDue():
                kept = [entry for entry in entries if cast(int, entry.key[-1]) <= firing.after]
                new = [*sessions(report, cast(Sessions, windows), counted, firing)]
            case CountsDue():
                kept = entries
                spans = cast(Counts | SlidingCounts, windows)
                new = [*counts(report, spans, counted, firing.after_batch, batch)]
            case _:
                raise AssertionError(firing)
        return kept, new

    def _totals(self, totals: Totals) -> Iterator[Entry]:
        for (user,), events in _by_key(self.counted[totals.name], ("user_id",)).items():
            yield Entry((user,), Row.of(events, totals.columns, sessions=len(sessions_of(events, totals.gap_ms))))


def periodic(
    report: Report, windows: Periodic, counted: Iterable[Counted], end: int, firing: WindowsDue
) -> Iterator[Entry]:
    """Yields the rows of the window that ends at `end`: events count that came before it closed."""
    taken = [event for event in counted if not lateness.is_closed(end, event.closed_until)]
    start, gap_ms = windows.begin(end), report.session_gap_ms
    begun = sessions_of(taken, gap_ms, report.keys) if "sessions_begun" in report.measures else []
    begun_by_key = _by_key([event for event in begun if start <= event.time < end], report.keys)
    inside = [event for event in taken if end in windows.ends(windows.pane_start(event.time))]
    for key, events in _by_key(inside, report.keys).items():
        late = sum(lateness.has_fired(end, event.watermark) for event in events)
        more = {"late_events": late, "sessions_begun": len(begun_by_key.get(key, ()))}
        yield Entry((*key, start, end), Row.of(events, report.columns, [firing.fired_by[end]], **more))


def sessions(report: Report, windows: Sessions, counted: Sequence[Counted], firing: SessionsDue) -> Iterator[Entry]:
    """Yields the sessions that are due, each with the batch whose watermark first reached its end."""
    for key, events in _by_key(counted, report.keys).items():
        for session in _joined(events, windows):
            times = [event.time for event in session]
            end = windows.latest_end(max(times))
            if firing.after < end <= firing.until:
                fired_by = next(step.batch for step in firing.steps if lateness.has_fired(end, step.watermark))
                late = sum(lateness.has_fired(windows.latest_end(event.time), event.watermark) for event in session)
                yield Entry((*key, min(times), end), Row.of(session, report.columns, [fired_by], late_events=late))


def _joined(events: Iterable[Counted], windows: Sessions) -> list[list[Counted]]:
    """Returns the sessions of a key's events, which are in the order of their arrival. An event joins no closed one."""
    joined = list[list[Counted]]()
    for event in events:
        session, others = [event], list[list[Counted]]()
        for other in joined:
            times = [member.time for member in other]
            end = windows.latest_end(max(times))
            touches = min(times) <= windows.latest_end(event.time) and event.time <= end
            if touches and not lateness.is_closed(end, event.closed_until):
                session = other + session
            else:
                others.append(other)
        joined = [*others, session]
    return joined


def counts(
    report: Report, windows: Counts | SlidingCounts, counted: Iterable[Counted], after: int, until: int
) -> Iterator[Entry]:
    """Yields the windows that ended after the batch `after`, and up to the batch `until`."""
    slide = windows.slide if isinstance(windows, SlidingCounts) else windows.size
    for key, events in _by_key(counted, report.keys).items():
        for end in range(slide, len(events) + 1, slide):
            window = events[max(0, end - windows.size) : end]
            times = [event.time for event in window]
            if after < window[-1].batch <= until:
                row = Row.of(window, report.columns, late_events=0)
                yield Entry((*key, min(times), max(times) + 1), row)


def _by_key(events: Iterable[Counted], keys: Sequence[str]) -> dict[tuple[str, ...], list[Counted]]:
    grouped = defaultdict[tuple[str, ...], list[Counted]](list)
    for event in events:
        grouped[tuple(event.event.value(key) for key in keys)].append(event)
    return grouped
