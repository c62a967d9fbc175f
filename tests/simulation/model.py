"""The reference model: what the tables must contain, from the ledger's offsets and the list of events alone."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from tests.simulation.events import Event, Topic, reason_of
from tests.simulation.marks import Marks, Place
from tests.simulation.rules import Rules, Shape
from tests.simulation.windows import Window, windows_of

_NEVER: Final = -(2**62)
Row = Mapping[str, Any]
Key = tuple[Any, ...]
Content = dict[str, Counter[Key]]
"""How often a table has a row, by table and by what the row contains."""
_Missed = tuple[Shape, Place, tuple[Window, ...]]


@dataclass(slots=True)
class Expected:
    """The content of all tables."""

    rows: Content
    letters: dict[Place, str]
    """The reason of each dead letter."""
    ids: dict[int, int]
    """The time of each event id that was counted."""
    ids_since: int
    """Ids of events from this time on must still be stored."""
    but: frozenset[str] = frozenset()
    """Users that were erased."""
    live: Content = field(default_factory=dict)
    """The rows of the live view of each report: user, window, page views, and its state."""


@dataclass(slots=True)
class _Session:
    start: int
    end: int
    events: int


@dataclass(slots=True)
class Model:
    """Replays a ledger. `rules_of` maps an epoch to the settings of its service."""

    topic: Topic
    rules_of: Mapping[int, Rules]
    corrects: bool = False
    """Whether events that missed windows were added to them afterwards."""
    replays: bool = False
    """Whether rejected records, which are in order, were also added in order."""
    but: frozenset[str] = frozenset()
    """Users that were erased."""
    marks: Marks = field(default_factory=Marks)
    drops_open: bool = True
    """Whether a report that is taken out loses its open windows even if its epoch had no batch."""
    _grid: dict[str, Counter[Key]] = field(default_factory=dict)
    _late: dict[str, Counter[Key]] = field(default_factory=dict)
    _shown: dict[tuple[str, Key], Key] = field(default_factory=dict)
    """The row of each window as it was published when it was due last."""
    _sessions: dict[str, dict[str, list[_Session]]] = field(default_factory=dict)
    _open: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    _full: dict[str, Counter[Key]] = field(default_factory=dict)
    _totals: Counter[Key] = field(default_factory=Counter)
    _closed: dict[str, int] = field(default_factory=dict)
    _missing: dict[str, int] = field(default_factory=dict)
    """The last end of each report of which panes are gone, so that its windows stay closed."""
    _dropped: set[str] = field(default_factory=set)
    """The reports that were ever taken out."""
    _published: dict[str, int] = field(default_factory=dict)
    """The last end that each report ever published, by a wrong clock too."""
    _furthest: int = _NEVER
    """The highest watermark."""
    _was_reset: bool = False
    _forgotten: int = _NEVER
    """Ids of events before it may be forgotten, also if a report that comes back has windows for them."""
    _missed: list[_Missed] = field(default_factory=list)
    _dead: list[Event] = field(default_factory=list)
    """Events that missed every window."""

    def replay(self, ledger: Sequence[Row]) -> Expected:
        """Returns what the tables must contain after these rows of the ledger, in order of their batches."""
        expected = Expected({}, {}, {}, _NEVER, self.but)
        worked = {row["epoch"] for row in ledger if row["batch"] % 10**9}
        rules, watermark = Rules(()), _NEVER
        for rows in (list(grouped) for _, grouped in groupby(ledger, key=itemgetter("batch"))):
            before, watermark = _number(rows[0]["watermark_before"]), _number(rows[0]["watermark"])
            if rows[0]["opening"]:
                was, rules = rules, self.rules_of[rows[0]["epoch"]]
                self._open_epoch(was, rules, before, json.loads(rows[0]["opening"]), rows[0]["epoch"] in worked)
                if not (was.deduplicates and rules.deduplicates):
                    expected.ids = {}
            for row in sorted(rows, key=itemgetter("partition")):
                for offset in range(row["from_offset"], row["to_offset"]):
                    self._take((row["partition"], offset), rules, before, expected)
            self._publish(watermark)
        since = min((self._closed_until(shape, watermark) for shape in rules.shapes), default=_NEVER)
        expected.ids_since = max(since, self._forgotten)
        if self.corrects or self.replays:
            self._correct(watermark, rules)
        expected.rows = self._content(watermark, rules)
        expected.live = {shape.name: Counter(self._live(shape, watermark)) for shape in rules.shapes}
        return expected

    def _open_epoch(self, was: Rules, now: Rules, reached: int, opening: Any, has_batches: bool) -> None:
        """How far each report is closed when an epoch begins; a report that goes keeps what has ended."""
        closed = {shape.name: self._closed_until(shape, reached) for shape in was.shapes}
        floor = min(closed.values(), default=_NEVER)
        for name in was.names - now.names:
            closed[name] = max(closed[name], reached)
            if has_batches or self.drops_open:
                self._drop_open(name, max(reached, self._kept_until(name)))
            self._missing[name] = max(self._ended(name, reached), default=_NEVER)
            self._dropped.add(name)
        self._forgotten = max(self._forgotten, floor) if now.names - was.names else self._forgotten
        new = dict.fromkeys(now.names - self._closed.keys() - closed.keys(), floor)
        self._closed |= closed | new
        if opening["reset"]:
            put_back, self._was_reset = opening["reset"]["watermark"], True
            self._forgotten = min(self._forgotten, put_back)
            self._closed = {name: min(time, put_back) for name, time in self._closed.items()}
        for name in self._closed if self._was_reset else ():
            # How far the replaced service merged panes, and which sessions were still published, this start has read.
            most = self._published.get(name, _NEVER) if name in self._dropped else _NEVER
            seen = min(opening["closed"].get(name, _NEVER), max(most, self.marks.merged.get(name, _NEVER)))
            self._missing[name] = max(self._missing.get(name, _NEVER), seen)
            self._closed[name] = max(self._closed[name], self._missing[name])

    def _publish(self, watermark: int) -> None:
        """Windows that a wrong clock made due are published, and stay as they were if the watermark is reset."""
        for name, counts in self._grid.items():
            due = {key: n for key, n in counts.items() if key[2] <= watermark}
            self._shown |= {(name, key): (*key, n, self._late[name][key]) for key, n in due.items()}
        for name in self._grid.keys() | self._sessions.keys():
            self._published[name] = max(self._published.get(name, _NEVER), *self._ended(name, watermark), _NEVER)
        self._furthest = max(self._furthest, watermark)

    def _kept_until(self, name: str) -> int:
        """The end of the last row that stays when a report is taken out: sessions that a reset opened may go."""
        kept = self._published.get(name, _NEVER)
        return min(kept, self.marks.dropped.get(name, 0)) if name in self._sessions else kept

    def _ended(self, name: str, reached: int) -> Iterator[int]:
        """The ends of a report's windows that are published at a watermark."""
        ends = [key[2] for key in self._grid.get(name, ())]
        ends += [one.end for own in self._sessions.get(name, {}).values() for one in own]
        yield from (end for end in ends if end <= reached)

    def _drop_open(self, name: str, reached: int) -> None:
        for counts in (self._grid, self._late):
            kept = {key: n for key, n in counts.get(name, Counter[Key]()).items() if key[2] <= reached}
            counts[name] = Counter(kept)
        if users := self._sessions.get(name):
            self._sessions[name] = {user: [one for one in own if one.end <= reached] for user, own in users.items()}
        self._open = {key: times for key, times in self._open.items() if key[0] != name}

    def _closed_until(self, shape: Shape, watermark: int) -> int:
        return max(watermark - shape.lateness_ms, self._closed.get(shape.name, _NEVER))

    def _take(self, place: Place, rules: Rules, watermark: int, expected: Expected) -> None:
        event = self.topic[place[0]][place[1]]
        in_time = [shape for shape in rules.shapes if self._is_in_time(shape, event, watermark)]
        missed = [*self._closed_windows(rules, event, watermark if event.is_event else -_NEVER)]
        if event.is_event and in_time and rules.deduplicates and event.event_id in expected.ids:
            return
        if reason := reason_of(event, is_late=not in_time, is_partly_late=bool(missed)):
            expected.letters[place] = reason
        if self.corrects if event.is_event else self.replays:
            self._missed += ((shape, place, windows) for shape, windows in missed)
            self._dead += [] if not rules.has_totals or (event.is_event and in_time) else [event]
        if event.is_event and in_time:
            expected.ids |= {event.event_id: event.time} if rules.deduplicates else {}
            self._totals[event.user,] += rules.has_totals
            for shape in in_time:
                self._count(shape, event, watermark)

    def _closed_windows(self, rules: Rules, event: Event, watermark: int) -> Iterator[tuple[Shape, tuple[Window, ...]]]:
        """The windows of an event that have closed at a watermark, by report."""
        for shape in rules.shapes:
            closed = self._closed_until(shape, watermark)
            if windows := tuple(window for window in windows_of(shape, event.time) if window[1] <= closed):
                yield shape, windows

    def _is_in_time(self, shape: Shape, event: Event, watermark: int) -> bool:
        closed = self._closed_until(shape, watermark)
        return shape.kind == "counts" or any(end > closed for _, end in windows_of(shape, event.time))

    def _count(self, shape: Shape, event: Event, watermark: int) -> None:
        if shape.kind == "counts":
            self._fill(shape, event)
        elif shape.kind == "sessions":
            self._join(shape, event, self._closed_until(shape, watermark))
        else:
            for start, end in windows_of(shape, event.time):
                if end > self._closed_until(shape, watermark):
                    self._add(shape, event, start, end, is_late=end <= watermark)

    def _add(self, shape: Shape, event: Event, start: int, end: int, *, is_late: bool) -> None:
        self._grid.setdefault(shape.name, Counter())[event.user, start, end] += 1
        self._late.setdefault(shape.name, Counter())[event.user, start, end] += is_late

    def _fill(self, shape: Shape, event: Event) -> None:
        times = self._open.setdefault((shape.name, event.user), [])
        times.append(event.time)
        full = self._full.setdefault(shape.name, Counter())
        if shape.slide:
            last = times[-shape.size :]
            full[event.user, min(last), max(last) + 1, len(last)] += len(times) % shape.slide == 0
        elif len(times) == shape.size:
            full[event.user, min(times), max(times) + 1, shape.size] += 1
            times.clear()

    def _join(self, shape: Shape, event: Event, closed: int) -> None:
        """Joins an event to all sessions of its user that it meets and that had not closed."""
        own = self._sessions.setdefault(shape.name, {}).setdefault(event.user, [])
        new = _Session(event.time, event.time + shape.size, 1)
        for other in [one for one in own if one.end > closed and one.start <= new.end and new.start <= one.end]:
            own.remove(other)
            new = _Session(min(new.start, other.start), max(new.end, other.end), new.events + other.events)
        own.append(new)

    def _correct(self, watermark: int, rules: Rules) -> None:
        """Adds what missed windows that are all final; totals missed only what missed every window."""
        for shape, place, windows in self._missed:
            event = self.topic[place[0]][place[1]]
            final = min(self._closed_until(shape, watermark), self.marks.final.get(shape.name, -_NEVER))
            decided = self.marks.decided.get((shape.name, place), _NEVER)
            final = max(final, min(decided, self._furthest - shape.lateness_ms))
            if shape.name not in rules.names or not self._are_final(shape, event.user, windows, final):
                continue
            for start, end in windows:
                if shape.kind == "sessions":
                    self._join(shape, event, _NEVER)
                else:
                    self._add(shape, event, start, end, is_late=True)
        for event in self._dead:
            self._totals[event.user,] += rules.has_totals and event.time <= watermark

    def _are_final(self, shape: Shape, user: str, windows: Sequence[Window], final: int) -> bool:
        """Whether no event in time can change windows; those later than the gap before `final` may join sessions."""
        if shape.kind != "sessions":
            return all(end <= final for _, end in windows)
        going_on = [one for one in self._sessions.get(shape.name, {}).get(user, ()) if one.end > final]
        return all(
            end <= final - shape.size and not any(one.start <= end and start <= one.end for one in going_on)
            for start, end in windows
        )

    def _content(self, watermark: int, rules: Rules) -> Content:
        self._publish(watermark)
        rows: Content = {name: Counter() for name in self._grid}
        for (name, key), shown in self._shown.items():
            rows[name][shown] += int(key in self._grid[name])
        for name, users in self._sessions.items():
            until = max(watermark, self._missing.get(name, _NEVER))
            ended = [(user, one) for user, own in users.items() for one in own if one.end <= until]
            rows[name] = Counter((user, one.start, one.end, one.events) for user, one in ended)
        rows |= {name: Counter(full) for name, full in self._full.items()}
        if rules.has_totals and watermark == _NEVER:
            rows["user_totals"] = Counter()  # they are published when the watermark moves
        elif rules.has_totals:
            rows["user_totals"] = Counter({(*key, n): 1 for key, n in self._totals.items() if n})
        return {name: Counter({key: n for key, n in rows[name].items() if key[0] not in self.but}) for name in rows}

    def _live(self, shape: Shape, watermark: int) -> Iterator[Key]:
        """Yields the windows that have ended as they were published, and all others with what was counted so far.

        A view does not know which windows an earlier start or a reset closed: within their lateness they are `fired`.
        """
        missing = self._missing.get(shape.name, _NEVER)
        until, closed = max(watermark, missing), max(watermark - shape.lateness_ms, missing)
        for *window, views, is_full in self._counted(shape, until):
            end = window[2]
            has_ended = is_full if shape.kind == "counts" else end <= until
            is_closed = shape.kind == "counts" or end <= closed
            state = ("closed" if is_closed else "fired") if has_ended else "open"
            if window[0] not in self.but:
                yield (*window, views, state)

    def _counted(self, shape: Shape, until: int) -> Iterator[Key]:
        """Yields user, start, end, page views, and whether it is full, of each window."""
        for key, views in self._grid.get(shape.name, Counter[Key]()).items():
            yield (*key, self._shown[shape.name, key][3] if key[2] <= until else views, False)
        for user, own in self._sessions.get(shape.name, {}).items():
            yield from ((user, one.start, one.end, one.events, False) for one in own)
        yield from ((*key, True) for key in self._full.get(shape.name, Counter[Key]()).elements())
        for (name, user), times in self._open.items():
            if name == shape.name and times:
                last = times[-(shape.size - shape.slide + len(times) % shape.slide) :] if shape.slide else times
                yield user, min(last), max(last) + 1, len(last), False


def _number(watermark: int | None) -> int:
    return _NEVER if watermark is None else watermark
