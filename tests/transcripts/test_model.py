"""The reference model satisfies every transcript: what the service is held against is itself held against data."""

import pytest

from tests.transcripts.model import Model
from tests.transcripts.transcript import Row, RowKey, Transcript, transcripts


@pytest.mark.parametrize("transcript", transcripts(), ids=lambda transcript: transcript.name)
def test_the_model_does_what_the_transcript_says(transcript: Transcript) -> None:
    model, rows = Model(transcript, clock=1_000_000), dict[RowKey, Row]()
    for step in transcript.steps:
        seen = model.play(step.send, step.wait_ms)
        step.check(rows, seen)
        rows = dict(seen.rows)


def test_there_are_transcripts_and_each_has_a_name_of_its_own() -> None:
    names = [transcript.name for transcript in transcripts()]
    assert len(names) > 10
    assert len(set(names)) == len(names)
