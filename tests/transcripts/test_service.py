"""The service satisfies every transcript on a real broker, one drain per step, and agrees with the model throughout."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.app import open_service
from pipeline.running import RunningService
from pipeline.settings import Settings
from tests import warehouse as tables
from tests.conservation import assert_conserved
from tests.kafka_cluster import Cluster
from tests.services import ANY_TIMESTAMP, Clock, settings_of
from tests.topic_writer import event, send
from tests.transcripts.model import Model
from tests.transcripts.random_transcript import random_transcript
from tests.transcripts.transcript import Row, RowKey, Seen, Step, Transcript, transcripts

ALL = [*transcripts(), random_transcript(seed=1)]


@pytest.mark.parametrize("transcript", ALL, ids=lambda transcript: transcript.name)
def test_the_service_does_what_transcript_and_model_say(
    transcript: Transcript, broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, clock = make_topic(transcript.partitions, **ANY_TIMESTAMP), Clock()
    model, rows = Model(transcript, clock()), dict[RowKey, Row]()
    with open_service(settings_for(transcript, broker, topic, tmp_path), now=clock) as service:
        for step in transcript.steps:
            clock.move(step.wait_ms)
            publish(step, broker, topic)
            seen = play(step, service, tmp_path)
            assert seen == model.play(step.send, step.wait_ms)
            if step.tells:
                step.check(rows, seen)
            rows = dict(seen.rows)
    assert_conserved(tmp_path)


def play(step: Step, service: RunningService, warehouse: Path) -> Seen:
    """One step on the real thing, its events being on the topic."""
    before = tables.latest_batch(warehouse)[0]["batch"]
    if step.send:
        service.drain()
    else:
        service.tick()
    dead = [row for row in tables.rows(warehouse, "dead_letters") if row["batch"] > before]
    return Seen(
        watermark=tables.latest_batch(warehouse)[0]["watermark"],
        rows=published(warehouse),
        dead=sorted((row["user_id"], row["event_time"], row["reason"]) for row in dead),
    )


def publish(step: Step, broker: Cluster, topic: str) -> None:
    """Put a step's events on the topic."""
    events = [event(sent.user, sent.event_time, sent.act, sent.partition, sent.stamp) for sent in step.send]
    send(broker.bootstrap_servers, topic, events)


def published(warehouse: Path) -> dict[RowKey, Row]:
    """The whole of `page_views`, with the number that the batch has in its epoch."""
    found = tables.rows(warehouse, "page_views")
    cells = {
        (row["user_id"], tables.milliseconds(row["window_start"]), tables.milliseconds(row["window_end"])): Row(
            row["page_views"], row["clicks"], row["late_events"], row["published_batch"] % tables.EPOCH
        )
        for row in found
    }
    assert len(cells) == len(found)
    return cells


def settings_for(transcript: Transcript, broker: Cluster, topic: str, warehouse: Path) -> Settings:
    """The transcript's settings, on a topic and in a warehouse of its own."""
    names = (
        "bound",
        "allowed_lateness",
        "idle_timeout",
        "max_future_skew",
        "of",
        "strategy",
        "marker",
        "lag",
        "all_idle",
    )
    time = {name: transcript.text(name) for name in names}
    window = {"size": transcript.text("window"), "offset": transcript.text("offset")}
    if slide := transcript.text("slide"):
        window["slide"] = slide
    return settings_of(broker, topic, warehouse, time=time, window=window)
