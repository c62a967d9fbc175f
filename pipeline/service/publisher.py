"""Step 4 of a batch: one publisher, in order, beside the next fold; it tries again as long as the store refuses."""

from collections.abc import Callable, Iterator
from functools import partial
from threading import Condition, Thread
from typing import Final

import structlog

from pipeline.errors import TransientError
from pipeline.event_time.window_states import Firings, due
from pipeline.metrics.observer import Observer
from pipeline.results.publication import Publication
from pipeline.service.outbox import Offer, Outbox
from pipeline.service.pauses import growing
from pipeline.service.resources import Clock, Resources
from pipeline.tables.store_errors import is_of_store, one_line

Wait = Callable[[Condition, Callable[[], bool], float], bool]
"""Waits for a condition, no longer than so many seconds."""

_PAUSES_S: Final = (0.5, 1, 2, 4, 8, 16, 30)
_LAST_TRIES: Final = 4
"""Of a publication that is waited for, before it is left to the next start."""
_NOTHING: Final = -1
"""In the place of a batch: none was published since the last step of upkeep."""
_CLOSE_S: Final = 10.0
"""How long a store that does not even refuse is waited for at the end."""
_log = structlog.get_logger()


def publish_due(resources: Resources, publication: Publication, firings: Firings, batch: int) -> None:
    """Publishes windows from the panes committed up to `batch`; doing it twice is harmless.

    Raises Replaced if a newer service took over.
    """
    with resources.timed("publish"):
        publication.publish(due(firings), batch)
    resources.observer.published(firings)
    fired, refired = (sum(len(getattr(firing, kind)) for firing in firings.values()) for kind in ("fired", "refired"))
    _log.info("windows published", batch=batch, fired=fired, refired=refired)


class Publisher:
    """Publishes in a thread of its own; what falls due while it is busy is published together afterwards."""

    def __init__(
        self, publish: Callable[[Firings, int], None], observer: Observer, now: Clock, wait: Wait = Condition.wait_for
    ) -> None:
        """`publish` takes the windows that are due, and the batch up to which panes are committed."""
        self._publish = publish
        self._observer = observer
        self._now = now
        self._wait = wait
        self._changed = Condition()
        self._outbox = Outbox()
        self._upkeep: tuple[Iterator[object], int] | None = None
        self._landed = _NOTHING
        self._busy = self._closed = False
        self._fatal: Exception | None = None
        self._last_failure: Exception | None = None
        self._tries_left: int | None = None
        self._hurries = 0
        self._pauses = growing(*_PAUSES_S)
        # A store may hold it for ever, and then the process must be able to end without it.
        self._thread = Thread(target=self._work, name="publisher", daemon=True)
        self._thread.start()

    def offer(self, firings: Firings, batch: int) -> None:
        """Takes what a committed batch made due."""
        with self._changed:
            self._outbox.add(Offer(firings, batch, self._now()))
            self._tell()

    def afterwards(self, steps: Iterator[object], batch: int) -> None:
        """Goes through the steps of upkeep once all is published that the batches up to `batch` made due.

        A publication that waits comes after each step, and a step after each publication: neither holds up the other
        for longer, however much there is. Does nothing while an earlier upkeep is not done.
        """
        with self._changed:
            self._upkeep = self._upkeep or (steps, batch)
            self._changed.notify_all()

    def check(self) -> None:
        """Raises what made publishing impossible: Replaced, or whatever else is not the store's."""
        if self._fatal is not None:
            raise self._fatal

    def flush(self, patience_s: float | None = None) -> None:
        """Returns when all that was offered is published, and upkeep done. Raises what `check` raises.

        Raises TransientError if the store refuses a few more times, or publication takes longer than `patience_s`. A
        backlog may publish for minutes, and a store that is away refuses in the end, so there is no limit by itself.
        """
        with self._changed:
            # Somebody waits: the next try is now, and pauses are short again.
            self._tries_left = _LAST_TRIES
            self._hurries += 1
            self._pauses = growing(*_PAUSES_S)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._fatal or self._idle() or self._tries_left == 0, patience_s)
            self._tries_left = None
            self.check()
            if self._outbox.batches:
                raise TransientError(
                    f"{self._outbox.batches} committed batches are not published: "
                    f"{self._last_failure or 'the store does not answer'}"
                ) from self._last_failure

    def close(self) -> None:
        """Ends the thread after what it has in hand, if that takes no longer than the patience there is."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(_CLOSE_S)
        if self._thread.is_alive():
            _log.warning("the store does not answer: a publication is left to the next start")

    def _idle(self) -> bool:
        return not (self._busy or self._outbox.batches or self._upkeep)

    def _work(self) -> None:
        while (task := self._next()) is not None:
            try:
                task()
            except Exception as error:  # noqa: BLE001 - kept for the thread that can act on it
                self._fatal = error
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _next(self) -> Callable[[], None] | None:
        """The next thing to do, None at the end: a publication, or a step of upkeep in its turn or where none waits."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._fatal or not self._idle())
            if self._closed or self._fatal:
                return None
            self._busy = True
            if self._upkeep:
                steps, batch = self._upkeep
                if batch <= self._landed or not self._outbox.batches:
                    self._landed = _NOTHING
                    return partial(self._tend, steps)
            offer = self._outbox.take()
            assert offer is not None  # noqa: S101 - or it would be idle
            return partial(self._try, offer)

    def _try(self, offer: Offer) -> None:
        try:
            self._publish(offer.firings, offer.batch)
        except Exception as error:
            if not is_of_store(error):
                raise
            self._pause_after(error, offer.batch)
        else:
            with self._changed:
                self._outbox.landed()
                self._landed = offer.batch
                self._pauses = growing(*_PAUSES_S)
                self._last_failure = None
                self._tell()

    def _pause_after(self, error: Exception, batch: int) -> None:
        with self._changed:
            self._last_failure = error
            self._tries_left = self._tries_left and self._tries_left - 1
            pause_s, hurries = next(self._pauses), self._hurries
            self._observer.publication_failed()
            _log.warning("publication failed and is tried again", batch=batch, pause_s=pause_s, reason=one_line(error))
            self._changed.notify_all()
            self._wait(self._changed, lambda: self._closed or self._hurries > hurries, pause_s)

    def _tend(self, steps: Iterator[object]) -> None:
        """A step of upkeep."""
        try:
            next(steps)
        except StopIteration:
            self._upkeep = None
        except Exception as error:
            self._upkeep = None
            if not is_of_store(error):
                raise
            self._observer.upkeep_failed()
            _log.warning("upkeep failed and is left to the next time", reason=one_line(error))

    def _tell(self) -> None:
        self._observer.unpublished(self._outbox.batches, self._outbox.since)
        self._changed.notify_all()
