"""Records that broke something once, or might: the real service counts or rejects each by its bytes alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz.bulk import Bulk
from tests.fuzz.compare import Sent, assert_outcomes
from tests.fuzz.kept import corpus
from tests.fuzz.oracle import Oracle
from tests.fuzz.seeds import NOW, seeds
from tests.support.kafka_cluster import Cluster
from tests.support.services import settings_of
from tidemark.pipeline.app import open_service
from tidemark.pipeline.tuning import STANDARD, Tuning
from tidemark.producers.encode import encode_one, header
from tidemark.schemas import load_schemas

pytestmark = pytest.mark.broker

LARGE = 900_000
KEYS = (b"ann", None, b"", b"\xff\xfe", b"nul\0", b"k" * 10_000)


def large() -> list[bytes]:
    """Returns records of nearly the size limit of a broker: noise, framed noise, and events with a long text."""
    event = {"event_id": "e", "event_type": "visit", "user_id": "u", "event_time": NOW, "page_url": "/"}
    grown = [encode_one({**event, name: "é" * (LARGE // 2)}) for name in ("event_id", "user_id", "user_agent")]
    return [b"\x80" * LARGE, header(1) + b"\x80" * LARGE, header(1) + bytes(LARGE), *grown]


def cut() -> list[bytes]:
    """Returns an event with every field, cut after each byte."""
    whole = max(seeds()[:6], key=len)
    return [whole[:end] for end in range(len(whole))]


@pytest.mark.parametrize("large_batch", [STANDARD.large_batch_records, 1], ids=["in the fold", "kept apart"])
@pytest.mark.parametrize("chunk_bytes", [STANDARD.chunk_bytes, LARGE], ids=["at once", "in pieces"])
def test_each_record_of_the_corpus_is_judged_by_its_bytes_however_the_driver_takes_the_fold(
    chunk_bytes: int,
    large_batch: int,
    broker: Cluster,
    make_topic: Callable[..., str],
    tmp_path: Path,
) -> None:
    topic = make_topic(partitions=1)
    settings = settings_of(broker, topic, tmp_path, time={"bound": "36500d"})
    oracle = Oracle(load_schemas(), settings.policy())
    values: list[bytes | None] = [*corpus().values(), None, b"", *cut(), *large(), *(b"?" for _ in KEYS)]
    keys = [KEYS[number % len(KEYS)] for number in range(len(values))]
    Bulk(broker.bootstrap_servers, topic, 1, NOW).send(values, keys)
    tuning = Tuning(chunk_bytes=chunk_bytes, large_batch_records=large_batch)
    with open_service(settings, tuning=tuning) as service:
        service.drain()
    records = enumerate(zip(values, keys, strict=True))
    assert_outcomes(tmp_path, {(0, n): Sent(value, key, oracle(value, NOW, None)) for n, (value, key) in records})
