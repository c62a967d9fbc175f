"""Judged by arrival, a transcript gives the same however it is cut: event by event, as one batch, or at random."""

from itertools import pairwise
from random import Random

import pytest

from tests.support.seeds import SEED
from tests.transcripts.arrival_player import ArrivalPlayer, Arriving, Outcome, arriving
from tests.transcripts.core_player import CorePlayer
from tests.transcripts.transcript import Sent, Step, Transcript
from tests.transcripts.transcript_files import subjects, transcripts_of


def played(transcript: Transcript, ends: list[int]) -> tuple[Outcome, Outcome]:
    """Plays batches that end at these indexes of its events. Returns the outcome before and after the end of input."""
    events, player = arriving(transcript), ArrivalPlayer(transcript)
    for first, last in pairwise([0, *ends, len(events)]):
        until = events[last].step if last < len(events) else events[-1].step + 1
        player.take(in_order(events[first:last]), until)
    before = player.outcome(totals=False)
    player.end()
    return before, player.outcome()


def in_order(batch: list[Arriving]) -> list[Arriving]:
    """Returns a batch as it is read: each partition in order, one after another."""
    return sorted(batch, key=lambda each: each.event.partition)


def is_played(transcript: Transcript) -> bool:
    """Whether arrival alone decides: not the clock, settings that change, ids, or the order of batches."""
    return (
        any(step.send for step in transcript.steps)
        and transcript.value("deduplicate") == "off"
        and transcript.value("strategy") in ("bounded", "punctuated")
        and transcript.value("of") == "event"
        and transcript.value("all_idle") == "hold"
        and transcript.value("max_ahead_of_clock") == "off"
        and not any(step.changes for step in transcript.steps)
        and not any("count" in report.window for report in transcript.reports)
    )


def whole_seconds(seed: int) -> Transcript:
    """Returns random events of whole seconds, so that many are at the end of a session or at the watermark."""
    chance, second, steps = Random(seed), 20, list[Step]()
    partitions = chance.choice([1, 2, 3])
    reports = {
        "visits": {"keys": chance.choice([[], ["user_id"]]), "window": {"gap": chance.choice(["2s", "5s", "10s"])}},
        "sliding": {"keys": [], "window": {"size": "4s", "slide": "2s"}, "allowed_lateness": "1s"},
        "patient": {"keys": ["user_id"], "window": {"gap": "3s"}, "allowed_lateness": "3s"},
    }
    settings = {
        "bound": chance.choice(["0s", "1s", "3s"]),
        "idle_timeout": chance.choice(["1s", "5s", "1h"]),
        "partitions": partitions,
        "reports": reports,
        "totals": {"gap": "5s", "every": "10s"},
    }
    for _ in range(chance.randrange(2, 18)):
        second += chance.choice([0, 1, 1, 2, 3, 8])
        times = [second - chance.choice([0, 0, 0, 1, 2, 3, 5, 10]) for _ in range(chance.choice([1, 1, 2]))]
        sent = tuple(Sent(chance.randrange(partitions), chance.choice("ab"), time * 1_000) for time in times)
        steps.append(Step(sent, chance.choice([0, 0, 0, 600, 1_200, 6_000]), {}))
    return Transcript(f"whole seconds, seed {seed}", settings, tuple(steps))


#   event        19  20  33  30     seconds, of one user; bound 3 s, sessions of 10 s
#   W before it   -  16  17  30     the session of 19 and 20 ends at 30: it is closed before 30 arrives
@pytest.mark.parametrize("ends", [[1, 2, 3], [1], [2], [3], []])
def test_an_event_at_the_watermark_joins_no_session_that_ended_there(ends: list[int]) -> None:
    settings = {"bound": "3s", "reports": {"visits": {"keys": [], "window": {"gap": "10s"}}}}
    events = tuple(Sent(0, "ann", second * 1_000) for second in (19, 20, 33, 30))
    _, whole = played(Transcript("at_the_watermark", settings, (Step(events, 0, {}),)), ends)
    assert {key: row["page_views"] for key, row in whole.tables["visits"].items()} == {
        (19_000, 30_000): 2,
        (30_000, 43_000): 2,
    }


NOT_PLAYED = {"counts", "settings"}
"""Subjects without a transcript that is played here. They are named, so that collecting reads no file."""


def played_of(subject: str) -> list[Transcript]:
    """Returns the transcripts of a subject that are played here."""
    return [*filter(is_played, transcripts_of(subject))]


def test_most_subjects_have_transcripts_that_are_played() -> None:
    counts = {subject: len(played_of(subject)) for subject in subjects()}
    assert {subject for subject, count in counts.items() if not count} == NOT_PLAYED
    assert sum(counts.values()) > 60


@pytest.mark.parametrize("subject", [subject for subject in subjects() if subject not in NOT_PLAYED])
def test_three_cuts_of_each_transcript_give_the_same(subject: str) -> None:
    for transcript in played_of(subject):
        assert_same_in_any_cut(transcript)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_three_cuts_of_random_events_of_whole_seconds_give_the_same(part: int) -> None:
    first = (SEED * 10 + part) * 1_000
    for seed in range(first, first + (150 if part else 10)):
        assert_same_in_any_cut(whole_seconds(seed))


def assert_same_in_any_cut(transcript: Transcript) -> None:
    chance, count = Random(SEED), sum(len(step.send) for step in transcript.steps)
    one_by_one = played(transcript, [*range(1, count)])
    assert played(transcript, []) == one_by_one, transcript.name
    ends = sorted(chance.sample(range(1, count), chance.randrange(count))) if count > 1 else []
    assert played(transcript, ends) == one_by_one, (transcript.name, ends)


@pytest.mark.parametrize("subject", ["tutorials"])
def test_in_one_batch_the_literature_has_the_numbers_that_it_has_event_by_event(subject: str) -> None:
    for transcript in played_of(subject):
        core = CorePlayer(transcript)
        for step in transcript.steps:
            for event in step.send or [None]:
                core.take(Step((event,) if event else (), step.wait_ms, {}))
        whole, _ = played(transcript, [])
        found = {name: {key: row.values for key, row in rows.items()} for name, rows in core.tables.items()}
        assert whole.tables == {name: rows for name, rows in found.items() if name in whole.tables}, transcript.name
