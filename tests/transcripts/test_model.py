"""The reference model satisfies every transcript: what the service is held against is itself held against data."""

import pytest
from hypothesis import settings

from tests.support.cases import case
from tests.transcripts import rebatched, transcript_files
from tests.transcripts.model import Model
from tests.transcripts.random_transcript import random_transcript
from tests.transcripts.transcript import Tables
from tests.transcripts.transcript_files import subjects, transcripts, transcripts_of

EACH_FILE = pytest.mark.parametrize("subject", subjects())
ALL_AT_ONCE = 1_000


@EACH_FILE
def test_the_model_does_what_the_transcripts_say(subject: str) -> None:
    for transcript in transcripts_of(subject):
        model = Model(transcript)
        before: Tables = {}
        for step in transcript.steps:
            with case(transcript.name):
                seen = model.play(step)
                transcript_files.check(step, model.transcript, before, seen)
                before = seen.tables


@EACH_FILE
def test_larger_batches_change_the_verdicts_of_late_records_only(subject: str) -> None:
    for transcript in transcripts_of(subject):
        as_written = rebatched.played(transcript)
        for at_most in (2, ALL_AT_ONCE):
            with case(f"{transcript.name}, {at_most} records a batch"):
                larger = rebatched.rebatched(transcript, at_most)
                rebatched.check(transcript, as_written, rebatched.played(larger))


@pytest.mark.parametrize("at_most", [2, ALL_AT_ONCE])
def test_random_transcripts_in_larger_batches_have_equal_results(at_most: int) -> None:
    for transcript in map(random_transcript, range(settings().max_examples // 2)):
        larger = rebatched.rebatched(transcript, at_most)
        rebatched.check(transcript, rebatched.played(transcript), rebatched.played(larger))


def test_there_are_transcripts_and_each_has_a_name_of_its_own() -> None:
    names = [transcript.name for transcript in transcripts()]
    assert len(names) >= 75
    assert len(set(names)) == len(names)
