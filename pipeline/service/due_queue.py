"""Publications that wait, in order; publications that fall due during another are merged."""

from dataclasses import dataclass

from tidemark.pipeline.event_time.window_states import Firings, merge


@dataclass(frozen=True, slots=True)
class DueFirings:
    """Windows that are due by the batches up to `batch`; `since` is when the first of them was committed, in ms."""

    firings: Firings
    batch: int
    since: int
    batches: int = 1


class DueQueue:
    """Plain state: threads that share it hold a lock.

    Firings that were taken stay as they are until their publication has landed, however often it is attempted. So a
    table recognises by their batch that it has the publication already.
    """

    def __init__(self) -> None:
        self._taken: DueFirings | None = None
        self._waiting: DueFirings | None = None

    @property
    def batches(self) -> int:
        """Batches that are committed and not published."""
        return sum(firings.batches for firings in (self._taken, self._waiting) if firings)

    @property
    def since(self) -> int | None:
        """When the first unpublished batch was committed, in milliseconds; None: everything is published."""
        return next((firings.since for firings in (self._taken, self._waiting) if firings), None)

    def add(self, due: DueFirings) -> None:
        """Adds what a batch made due, after everything that waits."""
        if first := self._waiting:
            together, batches = merge(first.firings, due.firings), first.batches + due.batches
            due = DueFirings(together, due.batch, first.since, batches)
        self._waiting = due

    def take(self) -> DueFirings | None:
        """Returns the next publication: the publication in progress, else everything added since."""
        if self._taken is None:
            self._taken, self._waiting = self._waiting, None
        return self._taken

    def landed(self) -> None:
        """Notes that the publication that was taken has landed."""
        self._taken = None
