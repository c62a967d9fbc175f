"""A million broken records by night, and thousands in CI, through the real service, which judges each by its bytes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.fuzz.bulk import Bulk
from tests.fuzz.compare import Sent, assert_outcomes
from tests.fuzz.heap import live_bytes
from tests.fuzz.kept import corpus
from tests.fuzz.mutate import mutants
from tests.fuzz.oracle import Oracle
from tests.fuzz.seeds import NOW, seeds
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import SEED
from tests.support.services import running, settings_of
from tests.support.waiting import PATIENCE_S, wait_for
from tests.support.warehouse import has_read
from tidemark.pipeline.app import open_service
from tidemark.schemas import load_schemas

pytestmark = pytest.mark.broker

PARTITIONS = 4
HEAP_RATIO = 1.2
"""How much more may live on the heap after the last part of a million than after the first.

Measured 75, 75, 77, 77 and 73 MB; a part is 40 MB of records.
"""
MEASURED_FROM = 100_000
KEYS = (b"ann", None, b"", b"\xff\xfe", b"k" * 300)


@pytest.mark.long
@pytest.mark.parametrize(
    ("parts", "per_part"),
    [(2, 10_000), pytest.param(5, 200_000, marks=pytest.mark.nightly)],
    ids=["sample", "million"],
)
def test_broken_records_are_each_counted_or_a_dead_letter_by_their_bytes_and_the_heap_stays_flat(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, parts: int, per_part: int
) -> None:
    topic, sent, heap = make_topic(partitions=PARTITIONS), {}, []
    # Nothing is ever too late, so that a verdict does not depend on how the stream was cut into batches.
    settings = settings_of(broker, topic, tmp_path, time={"bound": "36500d"}, dead_letters={"limit": 1})
    oracle = Oracle(load_schemas(), settings.policy())
    bulk, good = Bulk(broker.bootstrap_servers, topic, PARTITIONS, NOW), [*seeds(), *corpus().values()]
    with open_service(settings) as service, running(service):
        for part in range(parts):
            values, keys = mutants(good, per_part, SEED + part), [KEYS[n % len(KEYS)] for n in range(per_part)]
            bulk.send(values, keys)
            wait_for(partial(has_read, tmp_path, (part + 1) * per_part), PATIENCE_S, "the commit of a part")
            heap.append(live_bytes())
            for n, (value, key) in enumerate(zip(values, keys, strict=True), start=part * per_part):
                sent[n % PARTITIONS, n // PARTITIONS] = Sent(value, key, oracle(value, NOW, None))
    assert_outcomes(tmp_path, sent)
    # After fewer records Spark has not yet loaded all that it needs.
    assert per_part < MEASURED_FROM or heap[-1] < HEAP_RATIO * heap[0], heap
