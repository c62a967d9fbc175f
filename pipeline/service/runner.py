"""A service at work: its batches, and the stream that brings them."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

import structlog

from pipeline.errors import NothingCounted, TransientError
from pipeline.event_time.policy import Verdict
from pipeline.kafka.stream import Stream
from pipeline.service.batch_loop import Service
from pipeline.service.end_of_topic import held_by, silent_partitions
from pipeline.service.publisher import Publisher
from pipeline.service.resources import Resources

_LAST_S: Final = 30.0
"""How long what is committed may take to be published once the service was told to stop."""
_EVENTS: Final = (Verdict.COUNTED, Verdict.DUPLICATE, Verdict.TOO_LATE, Verdict.ERASED)
"""Verdicts on records that could be read as events of this topic."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service at work: drains the topic, ticks, or runs until told to stop."""

    _service: Service
    _stream: Stream
    _publisher: Publisher
    _resources: Resources
    metrics_port: int
    _tick_seconds: float
    """From one tick to the next while it runs."""

    @property
    def committed(self) -> int:
        """How many batches this service has committed."""
        return self._service.committed

    def drain(self) -> None:
        """Reads what is on the topic at the call; returns when it and all that became due by it is published.

        Raises Replaced if a newer service has taken the warehouse over, TransientError if the broker failed.
        """
        self._stream.drain(self._service.positions())
        self._publisher.flush()
        self._resources.observer.caught_up()

    def require_events(self) -> None:
        """Raises NothingCounted if records were read, and all of them are malformed or from the future."""
        verdicts = self._service.verdicts
        if verdicts and not any(verdicts[verdict] for verdict in _EVENTS):
            reasons = ", ".join(f"{count} {reason}" for reason, count in verdicts.most_common(3))
            raise NothingCounted(
                f"of {verdicts.total()} records none was counted ({reasons}): `tidemark dead-letters show` opens them, "
                "and `tidemark check` looks at the settings"
            )

    def settle(self, wait: Callable[[float], None] = time.sleep) -> None:
        """After `drain`: publishes windows that only partitions without new records hold back.

        Partitions that were silent for the idle timeout at the end of the topic are idle. A partition without any
        record is first waited for, `wait` for that long. What then still holds windows open is logged.
        """
        topic, timeout_ms = self._resources.topic, self._resources.policy.idle_timeout_ms
        newest = topic.newest()
        if None in newest.values() and any(self._service.open_windows.values()):
            wait(timeout_ms / 1000)
            newest = topic.newest()
        self._service.tick(silent_partitions(newest, timeout_ms))
        self._publisher.flush()
        if still_open := {name: count for name, count in self._service.open_windows.items() if count}:
            held = held_by(self._service.frontier)
            _log.info("windows_still_open", open=still_open, held_by_partitions=held, see="tidemark live")

    def tick(self) -> None:
        """Re-evaluates idleness now; commits and publishes what becomes due by it."""
        self._service.tick()
        self._publisher.flush()

    def run(self, stopping: Event) -> None:
        """Batch after batch until `stopping`; then the batch in hand is finished, committed and published.

        What the store then refuses to publish is left to the next start. Raises what `drain` raises.
        """
        with tempfile.TemporaryDirectory(prefix="tidemark-") as checkpoint:
            query = self._stream.start(self._service.positions(), Path(checkpoint))
            try:
                while not stopping.is_set() and not self._stream.wait(query, self._tick_seconds):
                    self._service.tick()
            finally:
                # Between batches: stopping a query inside one overflows its thread's stack.
                self._service.close()
                self._stream.stop(query)
        try:
            self._publisher.flush(_LAST_S)
        except TransientError as error:
            _log.warning("publication_deferred", reason=str(error))
