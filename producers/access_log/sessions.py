"""Sessions by gap: a visit continues its user's session if it follows the previous visit within the gap."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import Final, NamedTuple

MOST: Final = 500_000
"""Beyond this many users the longest idle user is forgotten: a flood of users must not fill the memory."""
LATEST: Final = 11
"""The time is the median of this many latest users, so that a few lines with a wrong time end no sessions."""
_HELD: Final = 2
"""Users are forgotten after this many gaps, because a line may be logged late by one."""


class Session(NamedTuple):
    """An open session: its first and its latest visit, in milliseconds since 1970."""

    start_ms: int
    last_ms: int


UserSessions = tuple[Session, ...]
"""The one or two latest sessions of a user, the most recently visited last.

There are two so that a visit with a time far ahead, or one that was logged late, does not end the session around it.
"""


class Sessions:
    """The open sessions. They depend on the visits so far, not on when they were read."""

    def __init__(
        self,
        gap_ms: int,
        opened: Iterable[tuple[str, UserSessions]] = (),
        most: int = MOST,
        latest: int = LATEST,
    ) -> None:
        """`opened` are the open sessions of an earlier run by user, the longest idle user first."""
        self._gap_ms, self._most, self._latest = gap_ms, most, latest
        self._open = dict(opened)
        self._changed: set[str] = set()

    def visit(self, user_id: str, time_ms: int) -> str:
        """Adds a visit of `user_id` and returns the id of its session."""
        # Removed and added again, so that the user becomes the last in the order of visits.
        sessions = self._open.pop(user_id, ())
        near = next((session for session in reversed(sessions) if self._is_near(session, time_ms)), None)
        others = [session for session in sessions if session is not near]
        session = Session(near.start_ms, max(near.last_ms, time_ms)) if near else Session(time_ms, time_ms)
        self._open[user_id] = (*others[-1:], session)
        self._changed.add(user_id)
        self._forget_idle()
        return blake2b(f"{user_id} {session.start_ms}".encode(), digest_size=16).hexdigest()

    def changes(self) -> Iterator[tuple[str, UserSessions]]:
        """Yields user and sessions for each user changed since the last call, in order of visits; () if forgotten."""
        changed, self._changed = self._changed, set()
        yield from ((user, ()) for user in changed if user not in self._open)
        yield from ((user, sessions) for user, sessions in self._open.items() if user in changed)

    def _is_near(self, session: Session, time_ms: int) -> bool:
        return session.start_ms - self._gap_ms <= time_ms <= session.last_ms + self._gap_ms

    def _forget_idle(self) -> None:
        while self._open:
            user, sessions = next(iter(self._open.items()))
            if len(self._open) <= self._most and not self._is_idle(sessions):
                return
            del self._open[user]
            self._changed.add(user)

    def _is_idle(self, sessions: UserSessions) -> bool:
        latest_ms = [of_user[-1].last_ms for of_user in islice(reversed(self._open.values()), self._latest)]
        if len(latest_ms) < self._latest:
            return False
        now_ms = sorted(latest_ms)[self._latest // 2]
        return all(abs(now_ms - session.last_ms) > _HELD * self._gap_ms for session in sessions)
