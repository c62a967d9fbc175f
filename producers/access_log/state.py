"""What is kept between two lives of a run, on a compacted topic: position, counts and open sessions.

It is written in the transaction of the events themselves, so that nothing can be kept that was not sent, nor sent that
is not kept. A record's key is the run's name, and for a session the user's pseudonym behind it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from producers.access_log.outcome import Outcome
from producers.access_log.place import Position
from producers.access_log.sessions import Session

_SEPARATOR: Final = b"\x00"
_VERSION: Final = 1

Record = tuple[bytes, bytes | None]
"""Key and value; a value of None deletes what was kept under the key."""


@dataclass
class Kept:
    """All that a run of a name needs to go on."""

    position: Position | None = None
    counts: Counter[Outcome] = field(default_factory=Counter)
    sessions: dict[str, Session] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, records: Iterable[Record]) -> "Kept":
        """What the records of a topic, in their order, say of a run. Raises ValueError for those of another version."""
        kept = cls()
        for key, value in records:
            of_run, _, user = key.partition(_SEPARATOR)
            if of_run != name.encode():
                continue
            if user:
                kept._take_session(user.decode(), value)
            elif value:
                kept._take_position(json.loads(value))
        return kept

    def _take_session(self, user_id: str, value: bytes | None) -> None:
        # Taken out and put back, it is the last in the order of visits.
        self.sessions.pop(user_id, None)
        if value:
            self.sessions[user_id] = Session(*json.loads(value))

    def _take_position(self, told: dict[str, object]) -> None:
        if told["version"] != _VERSION:
            raise ValueError(f"it is of version {told['version']}, and this program knows {_VERSION}")
        position, counts = told["position"], told["counts"]
        self.position = Position.read(position) if isinstance(position, dict) else None
        if isinstance(counts, dict):
            self.counts = Counter({Outcome(name): count for name, count in counts.items()})


def records_of(
    name: str,
    position: Position | None,
    counts: Counter[Outcome],
    sessions: Iterable[tuple[str, Session | None]],
) -> Iterator[Record]:
    """What is to be kept after some lines: sessions that have changed, and all else anew."""
    for user, session in sessions:
        yield name.encode() + _SEPARATOR + user.encode(), json.dumps(session).encode() if session else None
    told = {"version": _VERSION, "position": position.told() if position else None, "counts": counts}
    yield name.encode(), json.dumps(told).encode()
