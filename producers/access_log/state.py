"""The state of a run, stored on a compacted topic across restarts: position, counts and open sessions.

It is written in the transaction of the events, so events and state are committed together or not at all. The key of a
record is the name of the run; the key of a session is the name followed by the pseudonym of the user.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from tidemark.producers.access_log.log_position import LogPosition
from tidemark.producers.access_log.outcome import LineOutcome
from tidemark.producers.access_log.sessions import Session, UserSessions

_SEPARATOR: Final = b"\x00"
_VERSION: Final = 1

StateRecord = tuple[bytes, bytes | None]
"""Key and value; a value of None deletes the key."""


@dataclass
class RunState:
    """All that a run needs to resume."""

    position: LogPosition | None = None
    counts: Counter[LineOutcome] = field(default_factory=Counter)
    sessions: dict[str, UserSessions] = field(default_factory=dict)

    @classmethod
    def from_records(cls, name: str, records: Iterable[StateRecord]) -> "RunState":
        """Returns the state of run `name` after `records` of the topic. Raises ValueError for another version."""
        state = cls()
        for key, value in records:
            of_run, _, user = key.partition(_SEPARATOR)
            if of_run != name.encode():
                continue
            if user:
                state._set_session(user.decode(), value)
            elif value:
                state._set_position(json.loads(value))
        return state

    def _set_session(self, user_id: str, value: bytes | None) -> None:
        # Removed and added again, so that it becomes the last in the order of visits.
        self.sessions.pop(user_id, None)
        if value:
            times = json.loads(value)
            self.sessions[user_id] = tuple(map(Session._make, zip(times[::2], times[1::2], strict=True)))

    def _set_position(self, fields: dict[str, object]) -> None:
        if fields["version"] != _VERSION:
            raise ValueError(f"it has version {fields['version']}, but this program reads version {_VERSION}")
        position, counts = fields["position"], fields["counts"]
        self.position = LogPosition.from_json(position) if isinstance(position, dict) else None
        if isinstance(counts, dict):
            self.counts = Counter({LineOutcome(name): count for name, count in counts.items()})


def state_records(
    name: str,
    position: LogPosition | None,
    counts: Counter[LineOutcome],
    sessions: Iterable[tuple[str, UserSessions]],
) -> Iterator[StateRecord]:
    """Yields the records that update the state of run `name`: changed sessions, then position and counts.

    The value of a user's sessions is a list of their first and latest times.
    """
    for user, of_user in sessions:
        times = [time_ms for session in of_user for time_ms in session]
        yield name.encode() + _SEPARATOR + user.encode(), json.dumps(times).encode() if times else None
    fields = {"version": _VERSION, "position": position.to_json() if position else None, "counts": counts}
    yield name.encode(), json.dumps(fields).encode()
