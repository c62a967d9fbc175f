"""Health and readiness. Pure: `now` is an argument, in milliseconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tidemark.command_line.counts import counted

_MOST_SIGHTINGS: Final = 1000
WAREHOUSE_ID: Final = "Tidemark-Warehouse-Id"
"""Header of `/healthz`: the id of the warehouse that the service writes; empty until it is open."""
_START_FACTOR: Final = 12
"""How many times longer than a batch a start may take: it publishes all that earlier services have left."""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """Yes or no, and a sentence with the reason."""

    ok: bool
    sentence: str


class Sighting(NamedTuple):
    """A log end, and when it was first seen in ms."""

    seen_at: int
    log_end: int


@dataclass(slots=True)
class Backlog:
    """The first sightings of log ends after the committed offset, by partition.

    A record at offset p arrived before the first sighting of a log end after p, so it has waited at least since then.
    (The sighting before that bounds the wait from above. It is not used: after a quiet night it is hours old, and a
    healthy service would be restarted for it.) A backlog at the start counts from its first sighting.
    """

    _sightings: dict[int, list[Sighting]] = field(default_factory=dict)

    def add(self, log_ends: Mapping[int, int], positions: Mapping[int, int], now: int) -> None:
        """Adds log ends, and forgets all before `positions`, which are committed."""
        for partition, log_end in log_ends.items():
            committed = positions.get(partition, 0)
            waiting = [sighting for sighting in self._sightings.get(partition, []) if sighting.log_end > committed]
            if log_end > max(committed, waiting[-1].log_end if waiting else 0):
                waiting.append(Sighting(now, log_end))
            # A service that is stuck for days must not fill the memory. The first sighting is what counts, so it stays.
            self._sightings[partition] = waiting[::2] if len(waiting) > _MOST_SIGHTINGS else waiting

    def oldest_age_ms(self, positions: Mapping[int, int], now: int) -> int | None:
        """Returns the least time that the oldest uncommitted record has waited; None if no record is known to wait."""
        waiting_since = [
            sighting.seen_at
            for partition, position in positions.items()
            for sighting in self._sightings.get(partition, [])
            if sighting.log_end > position
        ]
        return max(0, now - min(waiting_since)) if waiting_since else None


def reached(positions: Mapping[int, int], goal: Mapping[int, int]) -> bool:
    """Returns whether every partition is at or after its goal."""
    return all(position >= goal.get(partition, position) for partition, position in positions.items())


@dataclass(slots=True)
class Loop:
    """The last turn of the service's loop: a batch, a tick or a failed attempt."""

    at_ms: int
    activity: str = "the service starts"
    is_starting: bool = False

    def turn(self, now: int, activity: str | None = None) -> None:
        """Notes a turn at `now`; without an `activity` the last one stays."""
        self.at_ms = now
        self.activity = activity or self.activity


def health(loop: Loop, now: int, stuck_after_ms: int) -> ProbeAnswer:
    """Returns whether the loop turned within `stuck_after_ms`: neither a backlog nor an outage is unhealthy.

    A start has twelve times as long: if a liveness probe ended it, the next one would have as much to publish.
    """
    limit_ms = stuck_after_ms * (_START_FACTOR if loop.is_starting else 1)
    last = f"{loop.activity}; its last loop was {_seconds(max(0, now - loop.at_ms))} ago"
    if now - loop.at_ms < limit_ms:
        return ProbeAnswer(ok=True, sentence=f"Healthy: {last}.")
    return ProbeAnswer(ok=False, sentence=f"Unhealthy: {last}, and {limit_ms / 1000:g} s is too long.")


def pace(interval_ms: int, since_commit_ms: int | None, waiting: int | None) -> str:
    """Returns a sentence on how often batches start, when the last one was committed, and how many records wait.

    `since_commit_ms` is None before the first commit of the process, `waiting` while the log ends are unknown.
    """
    often = f"a batch starts every {interval_ms / 1000:g} s" if interval_ms else "batches follow one another"
    last = "no batch was committed yet"
    if since_commit_ms is not None:
        last = f"the last one was committed {_seconds(max(0, since_commit_ms))} ago"
    if waiting is None:
        return f"{often.capitalize()}; {last}; the brokers have not reported how many records wait."
    records = counted(waiting, "record waits", "records wait")
    return f"{often.capitalize()}; {last}; {records}."


def readiness(
    age_ms: int | None, unpublished_ms: int | None, unanswered_ms: int | None, max_age_ms: int, *, caught_up: bool
) -> ProbeAnswer:
    """Returns whether the service caught up once, and nothing has waited for `max_age_ms` or longer.

    `age_ms` is how long the oldest uncommitted record has waited, `unpublished_ms` how long a publication, and
    `unanswered_ms` how long the brokers have not reported the log ends.
    """
    if not caught_up:
        return ProbeAnswer(ok=False, sentence="Not ready: the service has not caught up with the topic yet.")
    for waited_ms, state in (
        (age_ms, "the oldest unprocessed record has waited {}"),
        (unpublished_ms, "publication has lagged for {}"),
        (unanswered_ms, "the brokers have not reported for {} whether there are new records"),
    ):
        if waited_ms is not None and waited_ms >= max_age_ms:
            why = f"{state.format(_seconds(waited_ms))}, and {max_age_ms / 1000:g} s is too long"
            return ProbeAnswer(ok=False, sentence=f"Not ready: {why}.")
    return ProbeAnswer(ok=True, sentence=f"Ready: no record and no publication has waited for {max_age_ms / 1000:g} s.")


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"
