"""The records of the duel's topic in the order of writing, and the truth about them.

Each class of events has users of its own, named `<class>-<number>`, so the cell of a user and a window contains events
of one class only, and a wrong count shows which fault caused it.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import pyarrow as pa

from tidemark.producers.encode import arrow_schema, encode, header
from tidemark.schemas import WRITER_ID

MINUTE_MS: Final = 60_000
PARTITIONS: Final = 4
BOUND_MS: Final = 10_000
"""Out-of-orderness bound, the same for every contestant."""
SPAN_MS: Final = 20 * MINUTE_MS
"""Event time of the topic."""
END_MS: Final = 30 * MINUTE_MS
"""Time of the first event after the end, by which every window is closed."""
BEFORE_NOW_MS: Final = 45 * MINUTE_MS
"""Age of the first event, so that no event but those of `Kind.FUTURE` is ahead of any clock."""
LAG_MS: Final = 90_000
LATE_BY_MS: Final = 10 * MINUTE_MS
_WARM_UP: Final = 600
"""Minutes of event time for the warm-up, before the first event."""
_COOL_DOWN: Final = 600
"""Seconds of event time for the events after the end."""
AHEAD_MS: Final = 24 * 60 * MINUTE_MS
_JITTER_MS: Final = 5_000
_BUSY, _OTHER, _LAGGING, _IDLE = range(PARTITIONS)
_SHARES: Final = {_BUSY: 0.6, _OTHER: 0.2, _LAGGING: 0.2}
_IDLE_SHARE: Final = 0.1
_SPECIAL_SHARE: Final = 0.01
_IDLE_UNTIL_MS: Final = MINUTE_MS
_ABORTED_AT_MS: Final = 7 * MINUTE_MS
KILLED_MS: Final = 8 * MINUTE_MS
"""When a contestant is killed."""
CAUGHT_UP_MS: Final = 11 * MINUTE_MS
"""When it must have shown rows again; late and future-dated events follow."""
_LATE_FROM_MS: Final = 12 * MINUTE_MS
_FUTURE_AT_MS: Final = 14 * MINUTE_MS
_ABORTED: Final = 500
_FUTURE: Final = 10
_CUT: Final = header(WRITER_ID) + b"\x0aab"
"""An event that ends within its first field."""
_USERS: Final = 200
_REPEATED_AFTER_MS: Final = 3_000
"""With the jitter less than the bound: a repetition is not late."""


class Kind(StrEnum):
    """The classes of events. Events of `MUST_COUNT` are in order within the bound on their partition."""

    GOOD = "good"
    LAGGING = "lagging"
    """Good events on a partition that is `LAG_MS` older than the others at any moment."""
    IDLE = "idle"
    """Good events on a partition that has no events after the first minute."""
    AFTER = "after"
    """Good events that follow an event that is dated a day ahead on their partition."""
    REPEATED = "repeated"
    """Good events that are sent twice with the same `event_id`."""
    LATE = "late"
    """Events that are `LATE_BY_MS` older than the newest event of their partition."""
    FUTURE = "future"
    """Events that are dated a day ahead."""
    ABORTED = "aborted"
    """Events of a transaction that is aborted."""
    MALFORMED = "malformed"
    """Values that are not events: noise, the first half of an event, or empty."""


MUST_COUNT: Final = (Kind.GOOD, Kind.LAGGING, Kind.IDLE, Kind.AFTER, Kind.REPEATED)
Cell = tuple[str, int]
"""User, and start of the window in milliseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record; `moment` is when it is written, in milliseconds of the topic's span. `user` is its key."""

    moment: int
    partition: int
    user: str
    value: bytes | None


_Draft = tuple[int, int, str, int | bytes | None]
"""The fields of a record, with the index of its event instead of the event's value."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The records in the order of writing; `truth` has the distinct events of each cell, also those of `Kind.ABORTED`.

    `malformed` is the number of malformed records. `warm_up` are older records, written one by one until a contestant
    has shown rows, and `cool_down` are newer ones, which close every window and are written until the end.
    """

    records: list[Record]
    truth: Counter[Cell]
    malformed: int
    warm_up: list[Record]
    cool_down: list[Record]


def kind_of(user: str) -> Kind | None:
    """Returns the class of a user's events; None for events that only close windows."""
    name = user.partition("-")[0]
    return Kind(name) if name in list(Kind) else None


def kinds_of(users: Iterable[str]) -> Counter[Kind]:
    """Counts the users' events by class, a user as often as it is named."""
    return Counter(kind for kind in map(kind_of, users) if kind)


def scenario(events: int, now_ms: int, seed: int = 1) -> Scenario:
    """Returns a seeded scenario of about `events` records whose times are before `now_ms`."""
    return _Script(events, now_ms, random.Random(seed)).write()  # noqa: S311 - a script, not a secret


class _Script:
    def __init__(self, events: int, now_ms: int, chance: random.Random) -> None:
        self._number, self._now, self._chance = events, now_ms, chance
        self._start = (now_ms - BEFORE_NOW_MS) // MINUTE_MS * MINUTE_MS
        self._truth, self._events = Counter[Cell](), list[dict[str, object]]()

    def write(self) -> Scenario:
        steady = [draft for number in range(self._number) for draft in self._at(number)]
        drafts = [*self._warm_up(), *steady, *self._aborted(), *self._future(), *self._cool_down()]
        values = encode(pa.RecordBatch.from_pylist(self._events, arrow_schema()))
        records = [
            Record(moment, partition, user, values[value] if isinstance(value, int) else value)
            for moment, partition, user, value in sorted(drafts, key=lambda draft: draft[0])
        ]
        before = [record for record in records if record.moment < 0]
        within = [record for record in records if 0 <= record.moment < END_MS]
        after = [record for record in records if record.moment >= END_MS]
        broken = sum(kind_of(record.user) is Kind.MALFORMED for record in within)
        return Scenario(within, self._truth, broken, before, after)

    def _warm_up(self) -> Iterator[_Draft]:
        """Yields an event of each active partition for each minute before the first event, all before its lag."""
        return self._steps("warm", range(-_WARM_UP * MINUTE_MS, -2 * LAG_MS, MINUTE_MS))

    def _cool_down(self) -> Iterator[_Draft]:
        """Yields an event of each active partition for each second after the end."""
        return self._steps("cool", range(END_MS, END_MS + _COOL_DOWN * 1000, 1000))

    def _steps(self, user: str, moments: range) -> Iterator[_Draft]:
        for moment in moments:
            for part in _SHARES:
                yield moment, part, f"{user}-{part}", self._add(f"{user}-{part}", self._start + moment)

    def _at(self, number: int) -> Iterator[_Draft]:
        """Yields the records of a moment: nearly always one good event."""
        moment, draw = number * SPAN_MS // self._number, self._chance.random()
        if draw < _SPECIAL_SHARE / 5:
            yield self._broken(moment, number)
        elif draw < _SPECIAL_SHARE and moment < _FUTURE_AT_MS:
            _, partition, user, event = self._event(Kind.REPEATED, moment, _BUSY)
            yield moment, partition, user, event
            yield moment + _REPEATED_AFTER_MS, partition, user, event
        elif draw < 2 * _SPECIAL_SHARE and _LATE_FROM_MS <= moment < _FUTURE_AT_MS:
            yield self._event(Kind.LATE, moment, _OTHER, delay=LATE_BY_MS)
        elif moment < _IDLE_UNTIL_MS and draw > 1 - _IDLE_SHARE:
            yield self._event(Kind.IDLE, moment, _IDLE)
        else:
            yield self._good(moment)

    def _good(self, moment: int) -> _Draft:
        partition = self._chance.choices(list(_SHARES), list(_SHARES.values()))[0]
        lagging = partition == _LAGGING
        kind = Kind.AFTER if moment > _FUTURE_AT_MS else Kind.LAGGING if lagging else Kind.GOOD
        return self._event(kind, moment, partition, delay=LAG_MS if lagging else 0)

    def _event(self, kind: Kind, moment: int, partition: int, delay: int = 0) -> _Draft:
        """Returns an event and adds it to the truth. A user has one partition."""
        user = f"{kind}-{partition + PARTITIONS * self._chance.randrange(_USERS // PARTITIONS)}"
        time = self._start + moment - delay - self._chance.randrange(_JITTER_MS)
        self._truth[user, time // MINUTE_MS * MINUTE_MS] += 1
        return moment, partition, user, self._add(user, time)

    def _add(self, user: str, time: int) -> int:
        """Adds an event to those that will be encoded, and returns its index."""
        index = len(self._events)
        kind = "visit" if index % 3 else "click"
        moment = datetime.fromtimestamp(time / 1000, UTC)
        fields = {"event_id": f"e{index}", "event_type": kind, "user_id": user, "event_time": moment, "page_url": "/a"}
        self._events.append(fields)
        return index

    def _broken(self, moment: int, number: int) -> _Draft:
        value = [self._chance.randbytes(40).replace(b"\0", b"\1"), _CUT, None][number % 3]
        return moment, (_BUSY, _OTHER)[number % 2], f"{Kind.MALFORMED}-{number}", value

    def _aborted(self) -> list[_Draft]:
        return [self._event(Kind.ABORTED, _ABORTED_AT_MS, number % 2) for number in range(_ABORTED)]

    def _future(self) -> list[_Draft]:
        """Returns events of each active partition whose producer's clock is a day ahead."""
        ahead = self._start - self._now - AHEAD_MS
        return [self._event(Kind.FUTURE, _FUTURE_AT_MS, part, ahead) for part in _SHARES for _ in range(_FUTURE)]
