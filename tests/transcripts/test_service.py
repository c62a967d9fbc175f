"""The service satisfies every transcript on a real broker, one drain per step, and agrees with the model throughout."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conservation import assert_conserved
from tests.kafka_cluster import Cluster
from tests.services import ANY_TIMESTAMP
from tests.transcripts import told
from tests.transcripts.model import Model
from tests.transcripts.random_transcript import random_transcript
from tests.transcripts.stage import Stage
from tests.transcripts.told import transcripts
from tests.transcripts.transcript import Tables, Transcript

ALL = [*transcripts(), *map(random_transcript, [1, 2, 3])]


@pytest.mark.parametrize("transcript", ALL, ids=lambda transcript: transcript.name)
def test_the_service_does_what_transcript_and_model_say(
    transcript: Transcript, broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    play(transcript, broker, make_topic(transcript.value("partitions"), **ANY_TIMESTAMP), tmp_path)


def play(transcript: Transcript, broker: Cluster, topic: str, warehouse: Path) -> None:
    """A transcript from begin to end, held against what it tells and against the model."""
    model = Model(transcript)
    before: Tables = {}
    with Stage(transcript, broker, topic, warehouse) as stage:
        for step in transcript.steps:
            seen = stage.play(step)
            assert seen == model.play(step)
            if step.tells:
                told.check(step, transcript, before, seen)
            before = seen.tables
    assert_conserved(warehouse)
