"""Publications that wait: in order, and those that fall due meanwhile as one."""

from dataclasses import dataclass

from pipeline.event_time.window_states import Firings, merge


@dataclass(frozen=True, slots=True)
class Offer:
    """Windows that are due by the batches up to `batch`; `since` is when the first of them was committed, in ms."""

    firings: Firings
    batch: int
    since: int
    batches: int = 1


class Outbox:
    """Plain state; who shares it between threads holds a lock.

    An offer in hand stays what it is until it has landed, however often it is tried: a table that has it already can
    then tell by its batch, and takes nothing twice.
    """

    def __init__(self) -> None:
        self._hand: Offer | None = None
        self._next: Offer | None = None

    @property
    def batches(self) -> int:
        """How many batches are committed and not published."""
        return sum(one.batches for one in (self._hand, self._next) if one)

    @property
    def since(self) -> int | None:
        """When the first of them was committed; None if there is none."""
        return next((one.since for one in (self._hand, self._next) if one), None)

    def add(self, offer: Offer) -> None:
        """Takes what a batch made due, behind all that waits."""
        if first := self._next:
            together, batches = merge(first.firings, offer.firings), first.batches + offer.batches
            offer = Offer(together, offer.batch, first.since, batches)
        self._next = offer

    def take(self) -> Offer | None:
        """The next publication: the one that was taken and has not landed, else all that came since."""
        if self._hand is None:
            self._hand, self._next = self._next, None
        return self._hand

    def landed(self) -> None:
        """Notes that the publication that was taken has landed."""
        self._hand = None
