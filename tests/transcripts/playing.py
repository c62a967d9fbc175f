"""Plays transcripts on a service with a real broker, and compares its tables with transcript and model throughout."""

from collections.abc import Mapping
from typing import Any

from tests.support.conservation import assert_conserved
from tests.support.services import ANY_TIMESTAMP
from tests.transcripts import transcript_files
from tests.transcripts.model import Model
from tests.transcripts.place import Place
from tests.transcripts.rebatched import counts
from tests.transcripts.selected import plays_by_query
from tests.transcripts.stage import Stage
from tests.transcripts.transcript import Seen, Tables, Transcript
from tidemark.pipeline.tuning import STANDARD, Tuning


def play(
    transcript: Transcript,
    place: Place,
    tuning: Tuning = STANDARD,
    *,
    by_query: bool | None = None,
    **more: Mapping[str, Any],
) -> None:
    """Plays a transcript, and compares the tables with its expectations and with the model; `more` are settings."""
    topic = place.make_topic(transcript.value("partitions"), **ANY_TIMESTAMP)
    model = Model(transcript)
    before: Tables = {}
    by_query = plays_by_query(transcript) if by_query is None else by_query
    with Stage(transcript, place.broker, topic, place.warehouse, tuning, by_query=by_query, **more) as stage:
        for step in transcript.steps:
            seen = stage.play(step)
            _assert_equal(seen, model.play(step), transcript)
            if step.expected:
                transcript_files.check(step, model.transcript, before, seen)
            before = seen.tables
        # A cut that cuts nothing would test nothing.
        assert not transcript.value("max_records") or stage.batches > len(transcript.steps)
    assert_conserved(place.warehouse)


def _assert_equal(seen: Seen, expected: Seen, transcript: Transcript) -> None:
    """All the same; but where a step may be cut into several batches, all that does not depend on the cut."""
    if not transcript.value("max_records"):
        assert seen == expected
        return
    assert (seen.watermark, seen.dead, seen.duplicates) == (expected.watermark, expected.dead, expected.duplicates)
    for name in expected.tables:
        assert counts(seen.tables, name) == counts(expected.tables, name)
