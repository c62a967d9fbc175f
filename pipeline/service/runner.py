"""A service at work: its batches, and the stream that brings them."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

import structlog

from pipeline.errors import TransientError
from pipeline.kafka.stream import Stream
from pipeline.metrics.observer import Observer
from pipeline.service.batch_loop import Service
from pipeline.service.publisher import Publisher

_LAST_S: Final = 30.0
"""How long what is committed may take to be published once the service was told to stop."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service at work: drains the topic, ticks, or runs until told to stop."""

    _service: Service
    _stream: Stream
    _publisher: Publisher
    _observer: Observer
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
        self._observer.caught_up()

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
