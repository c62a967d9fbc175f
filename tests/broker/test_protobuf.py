"""The converter of docs/start.md as a process: a record of Protobuf is one event, any other is a dead letter."""

import os
import re
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.deploy.files import ROOT, commands_of, section_of
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import settings_of
from tests.support.topic_writer import Raw, send
from tests.support.waiting import wait_for
from tests.support.warehouse import page_views, rows
from tidemark.pipeline.app import open_service

pytestmark = pytest.mark.broker

PAGE = section_of(ROOT / "docs" / "start.md", "A topic in Protobuf")
BLOCKS = dict(re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
NOON = 1_714_564_800_000
"""2024-05-01T12:00:00Z."""
PATIENCE_S = 600


def varint(number: int) -> bytes:
    head, rest = number & 0x7F, number >> 7
    return bytes([head | 0x80]) + varint(rest) if rest else bytes([head])


def action(user: str, second: int, act: str, partition: int = 0) -> Raw:
    """Returns a record in Confluent's frame: id 7, and the first message of its file."""
    at = NOON + second * 1_000
    texts = {1: user, 3: act, 4: "/shop"}
    fields = {number: varint(number * 8 + 2) + varint(len(text)) + text.encode() for number, text in texts.items()}
    message = fields[1] + varint(2 * 8) + varint(at) + fields[3] + fields[4]
    return Raw(b"\0\0\0\0\7" + b"\0" + message, user.encode(), partition, at)


def ends(broker: Cluster, topic: str) -> list[int]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "ends"})
    try:
        return [consumer.get_watermark_offsets(TopicPartition(topic, partition))[1] for partition in range(2)]
    finally:
        consumer.close()


def _has_more(broker: Cluster, count: int) -> bool:
    return sum(ends(broker, "events")) > count


@contextmanager
def converting(broker: Cluster, folder: Path) -> Iterator[None]:
    """Runs the commands of the section, and kills the converter at the end."""
    _, compiler, converter = commands_of(PAGE)
    subprocess.run([sys.executable, *compiler[1:]], cwd=folder, check=True)
    assert converter == ["SERVERS=kafka:9092", "python", "to_json.py"]
    environment = {**os.environ, "SERVERS": broker.bootstrap_servers}
    with subprocess.Popen([sys.executable, "to_json.py"], cwd=folder, env=environment) as process:
        yield
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)


def test_each_record_is_converted_once_with_its_key_partition_and_time(broker: Cluster, tmp_path: Path) -> None:
    for name, language in {"action.proto": "proto", "to_json.py": "python"}.items():
        (tmp_path / name).write_text(BLOCKS[language])
    for topic in ("actions", "events"):
        broker.create_topic(topic, 2)
    first = [action("ann", 1, "view"), action("ann", 20, "tap"), Raw(b"\0\0\0\0\7\0\xff", timestamp_ms=NOON)]
    second = [Raw(None, b"ann", 1, NOON), action("bob", 70, "view", 1), action("ann", 200, "view")]
    second += [action("bob", 200, "view", 1), action("bob", 201, "scroll", 1)]
    for records, count in ((first, 3), (second, 8)):
        send(broker.bootstrap_servers, "actions", records)
        with converting(broker, tmp_path):
            # The end of each transaction takes an offset of its own.
            wait_for(partial(_has_more, broker, count), PATIENCE_S, "the events")
    warehouse = tmp_path / "warehouse"
    schemas: dict[str, Any] = tomllib.loads(BLOCKS["toml"])["schemas"]
    with open_service(settings_of(broker, "events", warehouse, schemas=schemas)) as service:
        service.drain()
    balance = assert_conserved(warehouse)
    assert (balance.counted, balance.malformed) == (5, 3)
    minutes = (NOON, NOON + 60_000), (NOON + 60_000, NOON + 120_000)
    assert page_views(warehouse) == {("ann", *minutes[0]): (1, 1, 0), ("bob", *minutes[1]): (1, 0, 0)}
    details = Counter((row["partition"], row["key"], row["value"] or b"") for row in rows(warehouse, "dead_letters"))
    assert (0, None, b"not Protobuf: \0\0\0\0\7\0\xff") in details
    assert (1, b"ann", b"") in details
