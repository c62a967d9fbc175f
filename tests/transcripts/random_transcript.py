"""A long disorderly transcript that nobody wrote: it tells nothing, so only the model can say what must come of it."""

from random import Random

from tests.transcripts.transcript import Sent, Step, Transcript

_PARTITIONS = 3
_USERS = ["a", "b", "c", "d"]
_SETTINGS = {
    "window": "10s",
    "bound": "5s",
    "allowed_lateness": "15s",
    "idle_timeout": "30s",
    "max_future_skew": "1m",
    "partitions": _PARTITIONS,
}


def random_transcript(seed: int, steps: int = 20, records: int = 40) -> Transcript:
    """Time goes on by about 10 s per step; some events are late, some too late, some from the future."""
    chance = Random(seed)
    return Transcript(f"random_{seed}", _SETTINGS, tuple(_step(chance, number, records) for number in range(steps)))


def _step(chance: Random, number: int, records: int) -> Step:
    wait_ms = chance.choice([0, 1_000, 10_000, 25_000])
    if chance.random() < 0.15:
        return Step((), wait_ms + 10_000, {})
    audible = chance.sample(range(_PARTITIONS), chance.randint(1, _PARTITIONS))
    sent = tuple(_event(chance, 100_000 + number * 10_000, audible) for _ in range(chance.randint(1, records)))
    return Step(sent, wait_ms, {})


def _event(chance: Random, now: int, audible: list[int]) -> Sent:
    displaced = chance.choices([0, -8_000, -20_000, -60_000, 70_000], [70, 15, 8, 5, 2])[0]
    act = chance.choice(["visit", "click"])
    event_time = now + chance.randrange(10_000) + displaced
    return Sent(chance.choice(audible), chance.choice(_USERS), event_time, act, kafka_timestamp=now)
