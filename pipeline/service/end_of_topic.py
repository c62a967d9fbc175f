"""The end of a finite topic: partitions that stay silent must not hold back the windows of the others."""

from collections.abc import Mapping

from tidemark.pipeline.event_time.watermark import Frontier


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
