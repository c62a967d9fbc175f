"""Runs a service: its batches, and the stream that delivers them."""

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

import structlog

from tidemark.command_line.counts import counted
from tidemark.pipeline.errors import NothingCounted, TransientError
from tidemark.pipeline.event_time.policy import Verdict
from tidemark.pipeline.event_time.watermark import Frontier
from tidemark.pipeline.kafka.stream import Stream
from tidemark.pipeline.service.batch_loop import Service
from tidemark.pipeline.service.publisher import Publisher
from tidemark.pipeline.service.resources import Resources

_LAST_S: Final = 30.0
"""How long the last publication may take after a request to stop."""
_EVENTS: Final = (Verdict.COUNTED, Verdict.DUPLICATE, Verdict.TOO_LATE, Verdict.ERASED)
"""Verdicts on records that could be read as events of this topic."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RunningService:
    """An open service: drains the topic, ticks, or runs until it is asked to stop."""

    _service: Service
    _stream: Stream
    _publisher: Publisher
    _resources: Resources
    metrics_port: int
    _tick_seconds: float
    """The time between ticks of `run`."""

    @property
    def committed(self) -> int:
        """The count of batches that this service has committed."""
        return self._service.committed

    def drain(self) -> None:
        """Reads what is on the topic now; returns when all that becomes due by it is published.

        Raises Replaced if a newer service has taken over the warehouse, TransientError if the broker failed.
        """
        self._stream.drain(self._service.positions(), self._service.arrived_before)
        self._publisher.flush()
        self._resources.observer.caught_up()

    def require_events(self) -> None:
        """Raises NothingCounted if records were read, and all of them are malformed or from the future."""
        verdicts = self._service.verdicts
        if verdicts and not any(verdicts[verdict] for verdict in _EVENTS):
            reasons = ", ".join(f"{count} {reason}" for reason, count in verdicts.most_common(3))
            raise NothingCounted(
                f"no event counted among {counted(verdicts.total(), 'record')} ({reasons}): "
                "`tidemark dead-letters show` opens them, and `tidemark check` looks at the settings"
            )

    def settle(self, wait: Callable[[float], None] = time.sleep) -> None:
        """After `drain`: publishes windows that only partitions without new records hold back.

        Partitions that were silent for the idle timeout at the end of the topic are idle. A partition without any
        record is waited for, by `wait` with seconds, until the ledger has known it for that long. Partitions that hold
        windows open even then are logged.
        """
        topic, timeout_ms = self._resources.topic, self._resources.policy.idle_timeout_ms
        newest, now = topic.newest(), self._resources.now()
        empty = [partition for partition, time_ms in newest.items() if time_ms is None]
        if empty and any(self._service.open_windows.values()):
            known_ms = now - (self._resources.ledger.known_since(empty) or now)
            if known_ms < timeout_ms:
                wait((timeout_ms - known_ms) / 1000)
                newest = topic.newest()
        self._service.tick(silent_partitions(newest, timeout_ms))
        self._publisher.flush()
        if still_open := self._service.unfired_windows:
            held = held_by(self._service.frontier)
            _log.info("windows_still_open", open=still_open, held_by_partitions=held, see="tidemark live")

    def end_input(self) -> None:
        """After `drain`: declares the topic complete, and publishes all windows."""
        self._service.end_input()
        self._publisher.flush()

    def tick(self) -> None:
        """Evaluates idleness now; commits and publishes what becomes due."""
        self._service.tick()
        self._publisher.flush()

    def run(self, stopping: Event) -> None:
        """Takes batches until `stopping` is set; then commits and publishes the current batch.

        A publication that the store refuses then is deferred to the next start. Raises what `drain` raises.
        """
        with tempfile.TemporaryDirectory(prefix="tidemark-") as checkpoint:
            query = self._stream.start(self._service.positions(), Path(checkpoint), self._service.arrived_before)
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
            _log.warning("publication_deferred", reason=str(error), retry="at the next start")


def silent_partitions(newest: Mapping[int, int | None], idle_timeout_ms: int) -> set[int]:
    """Returns the partitions that were silent for the idle timeout when the topic's newest record came. Pure.

    `newest` is the highest Kafka timestamp of each partition, in milliseconds; None: it has no record. A service that
    had read the topic while it was written would have had these partitions idle.
    """
    times = [time for time in newest.values() if time is not None]
    if not times:
        return set()
    return {partition for partition, time in newest.items() if time is None or time <= max(times) - idle_timeout_ms}


def held_by(frontier: Frontier) -> list[int]:
    """Returns the partitions with the lowest event time of those that are not idle, or without any event."""
    active = {partition: state.max_event_time for partition, state in frontier.partitions.items() if not state.idle}
    lowest = min(active.values(), key=lambda time: (time is not None, time or 0), default=None)
    return sorted(partition for partition, time in active.items() if time == lowest)
