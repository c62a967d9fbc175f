"""Publications that wait, in order; publications that fall due during another are merged."""

from dataclasses import dataclass

from tidemark.pipeline.event_time.window_states import Firings, merge


@dataclass(frozen=True, slots=True)
class Offer:
    """Windows that are due by the batches up to `batch`; `since` is when the first of them was committed, in ms."""

    firings: Firings
    batch: int
    since: int
    batches: int = 1


class Outbox:
    """Plain state: threads that share it hold a lock.

    An offer that was taken stays as it is until it has landed, however often it is attempted. So a table recognises by
    its batch that it has the publication already.
    """

    def __init__(self) -> None:
        self._hand: Offer | None = None
        self._next: Offer | None = None

    @property
    def batches(self) -> int:
        """Batches that are committed and not published."""
        return sum(offer.batches for offer in (self._hand, self._next) if offer)

    @property
    def since(self) -> int | None:
        """When the first unpublished batch was committed, in milliseconds; None: everything is published."""
        return next((offer.since for offer in (self._hand, self._next) if offer), None)

    def add(self, offer: Offer) -> None:
        """Adds what a batch made due, after everything that waits."""
        if first := self._next:
            together, batches = merge(first.firings, offer.firings), first.batches + offer.batches
            offer = Offer(together, offer.batch, first.since, batches)
        self._next = offer

    def take(self) -> Offer | None:
        """Returns the next publication: the publication in progress, else everything added since."""
        if self._hand is None:
            self._hand, self._next = self._next, None
        return self._hand

    def landed(self) -> None:
        """Notes that the publication that was taken has landed."""
        self._hand = None
