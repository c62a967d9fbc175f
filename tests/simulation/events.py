"""The events of a run: what a fold would have read from the partitions of a topic."""

from dataclasses import dataclass, replace
from typing import Final

MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE
NOON: Final = 1_714_564_800_000
"""2024-05-01T12:00:00Z in milliseconds."""


@dataclass(frozen=True, slots=True)
class Event:
    """A visit of a user, by the minute after noon."""

    minute: float
    user: str = "ann"
    event_id: int = 0
    is_malformed: bool = False
    """Whether the rules of the service reject it; `tidemark replay` accepts it."""
    is_future: bool = False
    """Whether its Kafka timestamp is too far before its own time."""

    is_ahead: bool = False
    """Whether its time is that of a wrong clock, which the service cannot detect."""

    @property
    def time(self) -> int:
        """Its time in milliseconds."""
        return NOON + round(self.minute * MINUTE)

    @property
    def is_event(self) -> bool:
        """Whether the service can count it."""
        return not self.is_malformed and not self.is_future


Topic = tuple[tuple[Event, ...], ...]
"""The events of each partition, in the order of their offsets."""


def events(text: str, first_id: int = 1) -> tuple[Event, ...]:
    """Reads events from words like `12.5ann`; `!` marks a malformed event, `?` a future event, `*` a wrong clock.

    >>> [event.minute for event in events("1ann 2.5bob")]
    [1.0, 2.5]
    """
    found: list[Event] = []
    for word in text.split():
        plain = word.rstrip("!?*")
        digits = plain.rstrip("abcdefghijklmnopqrstuvwxyz")
        event = Event(float(digits), plain[len(digits) :], first_id + len(found))
        found.append(replace(event, is_malformed="!" in word, is_future="?" in word, is_ahead="*" in word))
    return tuple(found)


def repeated(topic: tuple[Event, ...], place: int, again_at: int) -> tuple[Event, ...]:
    """Brings the event at `place` a second time, before the event at `again_at`."""
    return (*topic[:again_at], topic[place], *topic[again_at:])


#   minute   0         10        20        30        40   ...  the watermark is the newest event of all partitions
#   ordered  a b c a b a a | b c a a | b c a | c b a | ...
ORDERED: Final[Topic] = (
    events("1ann 2bob 3cid 4ann 6.2bob 9zed 10.5ann 12bob 13cid 14ann 17ann 21bob 22cid 31cid 33bob 46ann 61cid"),
)
"""One partition in order: panes and publications, and nothing late."""
_LATE: Final = events("1ann 2bob 8ann 11ann 9bob 12cid 5dan 18bob 21cid 8.5dan 24ann 12eve 31cid 3fay 46cid 61ann")
LATE: Final[Topic] = (repeated(repeated(_LATE, 1, 5), 7, 11),)
"""One partition with events that are late, too late, and repeated."""
PARTS: Final[Topic] = (LATE[0][0::2], LATE[0][1::2])
"""Two partitions, so that the watermark is the smaller of two."""
WHOLE_VISIT: Final[Topic] = (
    events("1ann 2.5bob 3ann 3.5bob 5ann 7ann 9ann 11ann 13ann 15ann 17ann 19ann 21ann 23ann 25ann 80cid 81cid 95bob"),
)
"""A session that goes on over many batches while others end."""
MIXED: Final[Topic] = (
    events("1ann 2bob 4ann 6bob 12cid 14ann 26bob 3.5zed 27cid 7fay! 2.5ann 13dan 31ann 40gus? 33cid 46zed 61cid"),
)
"""Every verdict: counted, too late, malformed and future."""
CROWD: Final[Topic] = (
    events("1ann 1.5zed 2bob 3ann 3.5bob 4cid 5ann 6bob 7cid 8ann 8.5zed 9bob 15ann 16bob 25bob 35cid 45ann"),
)
"""A user who comes in the first batch and in the fourth, among others whose sessions go on."""


def reason_of(event: Event, *, is_late: bool, is_partly_late: bool) -> str | None:
    """The reason of an event's dead letter; None without a dead letter."""
    if not event.is_event:
        return "malformed" if event.is_malformed else "future"
    return "too_late" if is_late else "partly_late" if is_partly_late else None
