"""Step 4 of a batch: publication, in a thread of its own while the next batch is folded.

There is one publisher, and it publishes in order. It tries again for as long as the store refuses.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Condition, Thread
from typing import Any, Final, assert_never

import structlog

from tidemark.command_line.counts import counted
from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.event_time.window_states import Firings, due
from tidemark.pipeline.metrics.observer import Observer
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.service.due_queue import DueFirings, DueQueue
from tidemark.pipeline.service.pauses import growing
from tidemark.pipeline.service.publisher_step import Maintain, Publish, PublisherState, Sleep, Stop, next_step
from tidemark.pipeline.service.resources import Clock, Resources
from tidemark.pipeline.tables.store_errors import is_of_store, one_line

WaitFunction = Callable[[Condition, float | None], object]
"""Waits until a condition is notified, at most for this many seconds."""

_PAUSES_S: Final = (0.5, 1, 2, 4, 8, 16, 30)
_LAST_ATTEMPTS: Final = 4
"""Attempts at a publication while a caller of `flush` waits for it, before it is left to the next start."""
_CLOSE_S: Final = 10.0
"""How long `close` waits for a store that does not answer, in seconds."""
_log = structlog.get_logger()


def publish_due(resources: Resources, publication: Publication, firings: Firings, batch: int) -> None:
    """Publishes windows from the panes committed up to `batch`; doing it twice is harmless.

    Raises Replaced if a newer service took over.
    """
    with resources.timed("publish"):
        publication.publish(due(firings), batch)
    resources.observer.published(firings)
    # The driver does not know how many sessions and count windows are due.
    timed = [firing for firing in firings.values() if firing.fired or firing.refired]
    counts = {kind: sum(len(getattr(firing, kind)) for firing in timed) for kind in ("fired", "refired") if timed}
    _log.info("windows_published", batch=batch, **counts)


class Publisher:
    """Publishes in a thread of its own; windows that fall due meanwhile are published together afterwards.

    `next_step` decides what the thread does; this class owns the thread, and the lock of what both threads change.
    """

    def __init__(
        self,
        publish: Callable[[Firings, int], None],
        observer: Observer,
        now: Clock,
        clock_s: Callable[[], float] = time.monotonic,
        wait: WaitFunction = Condition.wait,
    ) -> None:
        """`publish` takes the windows that are due, and the batch up to which panes are committed.

        `now` is the service's clock in milliseconds, `clock_s` measures pauses in seconds.
        """
        self._publish = publish
        self._observer = observer
        self._now = now
        self._clock_s = clock_s
        self._wait = wait
        self._changed = Condition()
        self._queue = DueQueue()
        self._maintenance: Iterator[object] = iter(())
        self._state = PublisherState()
        self._is_busy = False
        self._fatal: Exception | None = None
        self._last_failure: Exception | None = None
        self._attempts_left: int | None = None
        self._pauses = growing(*_PAUSES_S)
        # A daemon, because a store may never answer, and the process must be able to end all the same.
        self._thread = Thread(target=self._work, name="publisher", daemon=True)
        self._thread.start()

    def add(self, firings: Firings, batch: int) -> None:
        """Takes the windows that a committed batch made due."""
        with self._changed:
            self._queue.add(DueFirings(firings, batch, self._now()))
            self._queue_changed()

    def afterwards(self, steps: Iterator[object], batch: int) -> None:
        """Does the steps of maintenance once everything that the batches up to `batch` made due is published.

        Publications and steps take turns. Does nothing while an earlier maintenance is unfinished.
        """
        with self._changed:
            if self._state.maintenance_after is None:
                self._maintenance = steps
                self._change(maintenance_after=batch)

    def check(self) -> None:
        """Raises the error that made publishing impossible: Replaced, or any error that is not the store's."""
        if self._fatal is not None:
            raise self._fatal

    def flush(self, patience_s: float | None = None) -> None:
        """Returns when everything that was added is published, and maintenance done. Raises what `check` raises.

        Raises TransientError if the store refuses a few more times, or publication takes longer than `patience_s`. A
        backlog may take minutes to publish, and a store that is away refuses in the end, so the default is no limit.
        """
        with self._changed:
            # The caller waits: the next attempt is now, and pauses are short again.
            self._attempts_left = _LAST_ATTEMPTS
            self._pauses = growing(*_PAUSES_S)
            self._change(retry_at_s=None)
            self._changed.wait_for(lambda: self._fatal or self._is_idle() or self._attempts_left == 0, patience_s)
            self._attempts_left = None
            self.check()
            if self._queue.batches:
                raise TransientError(
                    f"{counted(self._queue.batches, 'committed batch', 'committed batches')} not published: "
                    f"{self._last_failure or 'the store does not answer'}"
                ) from self._last_failure

    def close(self) -> None:
        """Ends the thread after its current step; gives up waiting for it after some seconds."""
        with self._changed:
            self._change(is_ending=True)
        self._thread.join(_CLOSE_S)
        if self._thread.is_alive():
            _log.warning("publication_deferred", reason="the store does not answer")

    def _is_idle(self) -> bool:
        return not self._is_busy and self._state.is_idle

    def _work(self) -> None:
        while not isinstance(step := self._await_step(), Stop):
            try:
                match step:
                    case Maintain():
                        self._maintain()
                    case Publish():
                        self._attempt()
                    case _:
                        assert_never(step)
            except Exception as error:  # noqa: BLE001 - `check` raises it in the thread that can act on it
                self._fatal = error
            with self._changed:
                self._is_busy = False
                self._change(is_ending=self._state.is_ending or self._fatal is not None)

    def _await_step(self) -> Publish | Maintain | Stop:
        with self._changed:
            while isinstance(step := next_step(self._state, self._clock_s()), Sleep):
                self._wait(self._changed, step.seconds)
            self._is_busy = not isinstance(step, Stop)
            return step

    def _attempt(self) -> None:
        """Publishes what has waited longest; if the store refuses, a later attempt does."""
        with self._changed:
            waiting = self._queue.take()
        assert waiting is not None  # noqa: S101 - `unpublished` is counted from the queue
        try:
            self._publish(waiting.firings, waiting.batch)
        except Exception as error:
            if not is_of_store(error):
                raise
            self._retry_later(error, waiting.batch)
        else:
            with self._changed:
                self._queue.landed()
                self._pauses = growing(*_PAUSES_S)
                self._last_failure = None
                self._state = replace(self._state, published=waiting.batch, retry_at_s=None)
                self._queue_changed()

    def _retry_later(self, error: Exception, batch: int) -> None:
        with self._changed:
            self._last_failure = error
            self._attempts_left = self._attempts_left and self._attempts_left - 1
            pause_s = next(self._pauses)
            self._observer.publication_failed()
            _log.warning("publication_failed", batch=batch, retry_in_s=pause_s, reason=one_line(error))
            self._change(retry_at_s=self._clock_s() + pause_s)

    def _maintain(self) -> None:
        """Does one step of maintenance."""
        with self._changed:
            self._change(published=None)
        try:
            next(self._maintenance)
        except StopIteration:
            self._end_maintenance()
        except Exception as error:
            self._end_maintenance()
            if not is_of_store(error):
                raise
            self._observer.upkeep_failed()
            _log.warning("maintenance_failed", reason=one_line(error))

    def _end_maintenance(self) -> None:
        with self._changed:
            self._change(maintenance_after=None)

    def _queue_changed(self) -> None:
        self._observer.unpublished(self._queue.batches, self._queue.since)
        self._change(unpublished=self._queue.batches)

    def _change(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)
        self._changed.notify_all()
