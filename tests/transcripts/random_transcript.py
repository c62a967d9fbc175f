"""Random, disorderly transcripts without expected results: only the model can judge them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from tests.transcripts.page_fields import AT_RANDOM
from tests.transcripts.random_changes import MARKERS, Changes
from tests.transcripts.transcript import Sent, Step, Transcript, milliseconds

SEEDS = [57, 113, 858, 994]
"""Few, because the service takes seconds for each; a test checks that together they cover every case."""

_USERS = ["a", "b", "c", "d"]
_OTHER_KINDS = ["login", "purchase"]
_PAGES = ["/", "/shop", "/help"]
_KEYS = ["user_id", "page_url", "event_type"]
_WHERE = ["", "", "event_type = 'click'", "event_type <> 'click'", "page_url = '/shop'", "user_id <> 'a'"]
_WINDOWS: list[Mapping[str, str]] = [
    {"size": "10s"},
    {"size": "20s", "offset": "7s"},
    {"size": "10s", "slide": "5s"},
    {"size": "9s", "slide": "6s", "offset": "2s"},
    {"gap": "1s"},
    {"gap": "4s"},
    {"gap": "15s"},
]
_COUNTS: list[Mapping[str, Any]] = [{"count": 2}, {"count": 3}, {"count": 7}]
_OF_THE_CALENDAR: list[Mapping[str, str]] = [
    {"size": size, "zone": zone} for size in ("15m", "1h", "2h", "1d") for zone in ("Europe/Berlin", "Asia/Kolkata")
]
_MEASURES = ["page_views", "clicks", "unique_users", "sessions_begun"]
_FURTHER = ["last_page_url", "first_seen", "last_seen"]
_BEGINS = [100_000_000, 1_774_742_400_000, 1_792_886_400_000]
"""The last two are an hour before the clocks of Berlin go forward and back."""


def random_transcript(seed: int, steps: int = 10, records: int = 25) -> Transcript:
    """Time goes on by about 10 s per step, or 10 min; some events are late, some too late, some from the future."""
    chance = Random(seed)
    begin, pace = chance.choice(_BEGINS), chance.choice([1, 1, 60])
    settings = {**_settings(chance, pace), "clock": begin}
    planned = [_step(chance, begin, number, pace, settings, records) for number in range(steps)]
    transcript = Transcript(f"random_{seed}", settings, tuple(_with_changes(chance, pace, settings, planned)))
    # By a chance of their own, so that each seed draws what it drew without them.
    apart = Random(f"duplicates {seed}")
    has_counts = any("count" in report.window for report in _at_its_end(transcript).every_report.values())
    transcript = transcript if has_counts or apart.random() < 0.6 else _with_duplicates(apart, transcript)
    apart = Random(f"kinds {seed}")
    transcript = _with_kinds(apart, transcript) if apart.random() < 0.5 else transcript
    return _with_fields(seed, transcript)


def _at_its_end(transcript: Transcript) -> Transcript:
    """With the reports that it came to have."""
    for step in transcript.steps:
        transcript = transcript.restarted(step.changes)
    return transcript


def _with_duplicates(chance: Random, transcript: Transcript) -> Transcript:
    """Most events have an id; some repeat one from before, and of those most are the same."""
    sent, steps = list[Sent](), list[Step]()
    for step in transcript.steps:
        first = len(sent)
        for number, event in enumerate(step.send, first):
            sent.append(_perhaps_again(chance, event, sent, number))
        restart = step.restart
        if restart and chance.random() < 0.3:
            restart = {**step.changes, "deduplicate": chance.choice(["off", "event_id"])}
        steps.append(replace(step, send=tuple(sent[first:]), restart=restart))
    return replace(transcript, settings={**transcript.settings, "deduplicate": "event_id"}, steps=tuple(steps))


def _perhaps_again(chance: Random, event: Sent, before: Sequence[Sent], number: int) -> Sent:
    if before and chance.random() < 0.3:
        # An old one, or one of this batch.
        known = chance.choice([*before[-20:], *before[:2]])
        return replace(known, partition=event.partition) if chance.random() < 0.7 else replace(event, id=known.id)
    return event if chance.random() < 0.1 else replace(event, id=f"id {number}")


def _with_kinds(chance: Random, transcript: Transcript) -> Transcript:
    """A third of the events are neither visits nor clicks, and every other report counts the events of all kinds."""

    def with_events(settings: Mapping[str, Any]) -> dict[str, Any]:
        reports = {
            name: {**report, "measures": [*report["measures"], *(["events"] if int(name[-1]) % 2 else [])]}
            for name, report in settings.get("reports", {}).items()
        }
        return {**settings, "reports": reports} if reports else {**settings}

    steps = [
        replace(
            step,
            send=tuple(replace(event, act=chance.choice([event.act] * 4 + _OTHER_KINDS)) for event in step.send),
            restart=with_events(step.changes) or step.restart,
        )
        for step in transcript.steps
    ]
    return replace(transcript, settings=with_events(transcript.settings), steps=tuple(steps))


def _with_fields(seed: int, transcript: Transcript) -> Transcript:
    """Two of three reports have measures of fields, which follow from their names."""

    def with_fields(settings: Mapping[str, Any]) -> dict[str, Any]:
        reports = {name: {**report, "measures": [*report["measures"], *drawn(name)]} for name, report in of(settings)}
        return {**settings, "reports": reports} if reports else {**settings}

    def drawn(name: str) -> list[str]:
        apart = Random(f"fields {seed} {name}")
        return apart.sample(AT_RANDOM, apart.choice([0, 2, 4]))

    def of(settings: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        yield from settings.get("reports", {}).items()

    steps = [replace(step, restart=with_fields(step.changes) or step.restart) for step in transcript.steps]
    return replace(transcript, settings=with_fields(transcript.settings), steps=tuple(steps))


def _settings(chance: Random, pace: int) -> dict[str, Any]:
    strategy = chance.choice(["bounded"] * 4 + ["punctuated", "time_lag"])
    return {
        "of": chance.choice(["event"] * 4 + ["ingestion", "processing"]),
        "strategy": strategy,
        "marker": chance.choice(MARKERS) if strategy == "punctuated" else "",
        "bound": f"{chance.choice([0, 3, 8]) * pace}s",
        "lag": f"{chance.choice([0, 5, 20]) * pace}s",
        "all_idle": chance.choice(["hold", "advance"]),
        "idle_timeout": f"{30 * pace}s",
        "max_future_skew": f"{60 * pace}s",
        "partitions": chance.randint(1, 3),
        "reports": {f"report_{number}": _report(chance, pace) for number in range(chance.randint(1, 4))},
        "totals": chance.choice([None, None, _totals(chance, pace)]),
    }


def _with_changes(chance: Random, pace: int, settings: Mapping[str, Any], planned: Sequence[Step]) -> Iterator[Step]:
    """Most restarts change settings."""
    more = {f"report_{number}": _report(chance, pace) for number in range(len(settings["reports"]) + 2)}
    changes = Changes(chance, pace, more | settings["reports"], settings["totals"] or _totals(chance, pace))
    now = settings
    for step in planned:
        changed = changes(now) if step.restart and chance.random() < 0.8 else {}
        now = {**now, **changed}
        yield replace(step, restart=changed) if changed else step


def _report(chance: Random, pace: int) -> dict[str, Any]:
    windows = [_at_pace(window, pace) for window in _WINDOWS]
    window = chance.choice([*windows, *windows, *_OF_THE_CALENDAR, *_COUNTS])
    measures = _MEASURES[:2] if window.keys() & {"gap", "count"} else _MEASURES
    report = {
        "keys": chance.sample(_KEYS, chance.randint(0, 3)),
        "where": chance.choice(_WHERE),
        "window": window,
        "allowed_lateness": f"{chance.choice([0, 0, 5, 15]) * pace}s",
        "measures": chance.sample(measures, chance.randint(1, len(measures))),
        # A day may consist of 40,000 panes at most, whose size divides the gap and the day.
        "session_gap": f"{max(chance.choice([2, 5, 20]) * pace, 5 if window.get('size') == '1d' else 0)}s",
    }
    # By a chance of their own, so that each seed draws what it drew without them.
    apart = Random(str(report))
    measures = [*report["measures"], *apart.sample(_FURTHER, apart.randint(1, 3))]
    return {**report, "measures": measures, "window": _sliding(apart, _growing(apart, window))}


def _growing(chance: Random, window: Mapping[str, Any]) -> Mapping[str, Any]:
    """Some windows that tumble grow up to their size instead."""
    if window.keys() & {"slide", "zone"} or "size" not in window or chance.random() < 0.5:
        return window
    return {**window, "step": f"{milliseconds(window['size']) // chance.choice([2, 5])}ms"}


def _sliding(chance: Random, window: Mapping[str, Any]) -> Mapping[str, Any]:
    """Some counts slide."""
    if "count" not in window or chance.random() < 0.7:
        return window
    return {**window, "slide": chance.randint(1, window["count"] - 1)}


def _totals(chance: Random, pace: int) -> dict[str, str]:
    return {"gap": f"{chance.choice([2, 5, 20]) * pace}s", "every": f"{chance.choice([4, 10, 30]) * pace}s"}


def _at_pace(window: Mapping[str, str], pace: int) -> dict[str, str]:
    return {name: f"{milliseconds(text) * pace}ms" for name, text in window.items()}


def _step(chance: Random, begin: int, number: int, pace: int, settings: Mapping[str, Any], records: int) -> Step:
    second = 1_000 * pace
    wait_ms = chance.choice([0, 0, 1, 10, 25]) * second
    restart = chance.random() < 0.2
    if chance.random() < 0.15:
        return Step((), wait_ms + 10 * second, {}, restart)
    partitions = range(settings["partitions"])
    audible = chance.sample(partitions, chance.randint(1, len(partitions)))
    now = begin + number * 10 * second
    sent = tuple(_event(chance, now, second, audible) for _ in range(chance.randint(1, records)))
    return Step(sent, wait_ms, {}, restart, unread=chance.random() < 0.1)


def _event(chance: Random, now: int, second: int, audible: list[int]) -> Sent:
    displaced = chance.choices([0, -8, -20, -60, 70], [70, 15, 8, 5, 2])[0] * second
    # Whole seconds often meet the edges of windows and sessions.
    event_time = now + displaced + chance.choice([chance.randrange(10) * second, chance.randrange(10 * second)])
    return Sent(
        chance.choice(audible),
        chance.choice(_USERS),
        event_time,
        chance.choice(["visit", "click"]),
        kafka_timestamp=now,
        page=chance.choice(_PAGES),
    )
