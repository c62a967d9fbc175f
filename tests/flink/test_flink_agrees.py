"""Flink's recorded results of each transcript equal the transcript: watermark, counts, late events."""

import pytest

from tests.flink.compare import flinks, tidemarks
from tests.flink.differences import DIFFERENT, NOT_EXPRESSIBLE, NOT_REPEATABLE, played_by
from tests.flink.flink_job import RUNS, fingerprint, job_of
from tests.flink.results import recorded_results
from tests.transcripts.transcript_files import transcripts

AGAIN = "run `make flink` again, or say in tests/flink/differences.py why Flink cannot express it"


@pytest.mark.parametrize("run", RUNS)
def test_flink_does_what_the_transcripts_say(run: str) -> None:
    for transcript in played_by(run):
        played = recorded_results(run).get(transcript.name)
        assert played, f"Flink has not played {transcript.name} as {run}: {AGAIN}"
        assert played["told"] == fingerprint(job_of(transcript, run)), f"{transcript.name} has changed since: {AGAIN}"
        steps = enumerate(zip(flinks(played, transcript, run), tidemarks(transcript), strict=True), 1)
        differing = {number: pair for number, pair in steps if pair[0] != pair[1]}
        allowed, _ = DIFFERENT.get((run, transcript.name), ([], ""))
        assert list(differing) == allowed, f"{transcript.name}: by step, Flink's and Tidemark's values: {differing}"


@pytest.mark.parametrize("run", RUNS)
def test_nothing_is_kept_that_is_no_transcript_any_more(run: str) -> None:
    assert set(recorded_results(run)) == {transcript.name for transcript in played_by(run)}


def test_every_exception_names_a_transcript_and_has_a_reason() -> None:
    names = {transcript.name for transcript in transcripts()}
    assert set(NOT_EXPRESSIBLE) <= names
    assert {name for _, name in (*DIFFERENT, *NOT_REPEATABLE)} <= names - set(NOT_EXPRESSIBLE)
    assert all([*NOT_EXPRESSIBLE.values(), *NOT_REPEATABLE.values()])
    assert all(reason and steps for steps, reason in DIFFERENT.values())
