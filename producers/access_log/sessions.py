"""Sessions by gap: a visit continues its user's session if it follows the previous visit within the gap."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

MOST: Final = 500_000
"""Beyond this many open sessions the longest idle session ends: a flood of users must not fill the memory."""


class Session(NamedTuple):
    """An open session: its first and its latest visit, in milliseconds since 1970."""

    start_ms: int
    last_ms: int


class Sessions:
    """The open sessions. They depend on the visits so far, not on when they were read.

    A session ends when the newest visit of any user is later than the session's latest visit by more than the gap.
    """

    def __init__(self, gap_ms: int, opened: Iterable[tuple[str, Session]] = (), most: int = MOST) -> None:
        """`opened` are the open sessions of an earlier run by user, the longest idle session first."""
        self._gap_ms, self._most = gap_ms, most
        self._open = dict(opened)
        self._newest_ms = max((session.last_ms for session in self._open.values()), default=0)
        self._changed: set[str] = set()

    def visit(self, user_id: str, time_ms: int) -> str:
        """Adds a visit of `user_id` and returns the id of its session."""
        self._newest_ms = max(self._newest_ms, time_ms)
        self._end_old()
        session = self._open.pop(user_id, None)
        if session is None or abs(time_ms - session.last_ms) > self._gap_ms:
            session = Session(time_ms, time_ms)
        # Removed and added again, so that it becomes the last in the order of visits.
        self._open[user_id] = Session(session.start_ms, max(session.last_ms, time_ms))
        self._changed.add(user_id)
        if len(self._open) > self._most:
            self._end(next(iter(self._open)))
        return blake2b(f"{user_id} {session.start_ms}".encode(), digest_size=16).hexdigest()

    def changes(self) -> Iterator[tuple[str, Session | None]]:
        """Yields user and session for each session changed since the last call, in order of visits; None if ended."""
        changed, self._changed = self._changed, set()
        yield from ((user, None) for user in changed if user not in self._open)
        yield from ((user, session) for user, session in self._open.items() if user in changed)

    def _end_old(self) -> None:
        while self._open:
            user = next(iter(self._open))
            if self._newest_ms - self._open[user].last_ms <= self._gap_ms:
                return
            self._end(user)

    def _end(self, user_id: str) -> None:
        del self._open[user_id]
        self._changed.add(user_id)
