"""Health and readiness, decided from what was seen of the log ends. Pure: `now` is an argument, in milliseconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

_MOST_SIGHTINGS = 1000


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """Yes or no, and one sentence why."""

    ok: bool
    sentence: str


@dataclass(slots=True)
class Backlog:
    """When each log end was first seen, per partition, as far as it is not committed.

    A record at offset p arrived before the first sighting of a log end beyond p, so it has waited at least since then.
    (The sighting before bounds the wait from above. It is not used: after a quiet night it lies hours back, and a
    service that is well would be restarted for it.) A backlog found at the start counts from its first sighting.
    """

    _sightings: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def saw(self, log_ends: Mapping[int, int], positions: Mapping[int, int], now: int) -> None:
        """The broker told its log ends; what lies before `positions` is committed and forgotten."""
        for number, log_end in log_ends.items():
            committed = positions.get(number, 0)
            known = [sighting for sighting in self._sightings.get(number, []) if sighting[1] > committed]
            if log_end > max(committed, known[-1][1] if known else 0):
                known.append((now, log_end))
            # A service that is stuck for days must not fill the memory: the first sighting is what counts, so it stays.
            self._sightings[number] = known[::2] if len(known) > _MOST_SIGHTINGS else known

    def oldest_age_ms(self, positions: Mapping[int, int], now: int) -> int | None:
        """The least time that the oldest uncommitted record has waited; None if none is known."""
        waiting_since = [
            seen_at
            for number, position in positions.items()
            for seen_at, log_end in self._sightings.get(number, [])
            if log_end > position
        ]
        return max(0, now - min(waiting_since)) if waiting_since else None


def reached(positions: Mapping[int, int], goal: Mapping[int, int]) -> bool:
    """Whether every partition stands at or beyond its goal."""
    return all(position >= goal.get(number, position) for number, position in positions.items())


@dataclass(slots=True)
class Loop:
    """When the service last came round, and what it does; it comes round with each batch, tick and failed attempt."""

    at_ms: int
    doing: str = "the service starts"

    def round(self, now: int, doing: str | None = None) -> None:
        """It came round, and goes on with the same or with something else."""
        self.at_ms = now
        self.doing = doing or self.doing


def health(loop: Loop, now: int, stuck_after_ms: int) -> ProbeAnswer:
    """Well while the loop came round within `stuck_after_ms`: a backlog or an outage is no reason to be ended."""
    ago = f"its loop came round {_seconds(max(0, now - loop.at_ms))} ago"
    if now - loop.at_ms < stuck_after_ms:
        return ProbeAnswer(ok=True, sentence=f"Well: {loop.doing}; {ago}.")
    return ProbeAnswer(ok=False, sentence=f"Unwell: {loop.doing}; {ago}, and {stuck_after_ms / 1000:g} s is too long.")


def readiness(
    age_ms: int | None, unpublished_ms: int | None, unanswered_ms: int | None, max_age_ms: int, *, caught_up: bool
) -> ProbeAnswer:
    """Ready once the service caught up, while neither a record nor a publication waits for `max_age_ms`.

    Nor may the brokers leave it unanswered for so long whether a record waits.
    """
    if not caught_up:
        return ProbeAnswer(ok=False, sentence="Not ready: the service has not caught up with the topic yet.")
    for waited_ms, what in (
        (age_ms, "the oldest unprocessed record has waited {}"),
        (unpublished_ms, "publication has been behind for {}"),
        (unanswered_ms, "the brokers have not said for {} whether there are new records"),
    ):
        if waited_ms is not None and waited_ms >= max_age_ms:
            why = f"{what.format(_seconds(waited_ms))}, and {max_age_ms / 1000:g} s is too long"
            return ProbeAnswer(ok=False, sentence=f"Not ready: {why}.")
    return ProbeAnswer(ok=True, sentence="Ready: the service has caught up with the topic.")


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"
