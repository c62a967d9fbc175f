"""Sessions by gap: a user's visits belong together while none is further from the one before than the gap."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

MOST: Final = 500_000
"""Of more open sessions the one that has been silent for longest ends: a flood of users must not fill the memory."""


class Session(NamedTuple):
    """An open session: its first and its latest visit, epoch ms."""

    start_ms: int
    last_ms: int


class Sessions:
    """The open sessions, which are a function of the visits so far and not of when they were read.

    A session ends when the newest visit of all is later than its latest one by more than the gap.
    """

    def __init__(self, gap_ms: int, opened: Iterable[tuple[str, Session]] = (), most: int = MOST) -> None:
        """`opened` are those of an earlier run, in the order in which they were last visited."""
        self._gap_ms, self._most = gap_ms, most
        self._open = dict(opened)
        self._newest_ms = max((session.last_ms for session in self._open.values()), default=0)
        self._changed: set[str] = set()

    def visit(self, user_id: str, time_ms: int) -> str:
        """The id of the session that a visit belongs to."""
        self._newest_ms = max(self._newest_ms, time_ms)
        self._end_old()
        found = self._open.pop(user_id, None)
        if found is None or abs(time_ms - found.last_ms) > self._gap_ms:
            found = Session(time_ms, time_ms)
        # Popped and put back, it is the last in the order of visits.
        self._open[user_id] = Session(found.start_ms, max(found.last_ms, time_ms))
        self._changed.add(user_id)
        if len(self._open) > self._most:
            self._end(next(iter(self._open)))
        return blake2b(f"{user_id} {found.start_ms}".encode(), digest_size=16).hexdigest()

    def changes(self) -> Iterator[tuple[str, Session | None]]:
        """Each user whose session has changed since this was last asked, in the order of visits; None if it ended."""
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
