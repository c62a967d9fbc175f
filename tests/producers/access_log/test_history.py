"""Against a real broker: history of every compression and of several rotators is sent in order, then the log."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.producers.access_log.log_writer import COMPRESS, Server
from tests.producers.access_log.test_exactly_once import SALT, events, options
from tests.producers.access_log.test_formats import AGENT
from tests.producers.test_producers_delivery import PARTITIONS
from tests.support.kafka_cluster import Cluster
from tidemark.producers.cli import main

pytestmark = pytest.mark.broker


def line(page: int, time: str) -> bytes:
    return f'192.0.2.1 - - [01/May/2024:{time} +0000] "GET /{page} HTTP/1.1" 200 5 "-" "{AGENT}"\n'.encode()


def test_history_of_every_compression_and_one_session_around_a_wrong_time_and_a_late_line(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "salt").write_text(SALT)
    (tmp_path / "log").mkdir()
    topic = make_topic(PARTITIONS)
    with closing(Server(tmp_path / "log")) as server:
        (server.folder / "access-2024-04-30T23-59-59.000.log").write_bytes(line(0, "12:00:00"))
        for page, (suffix, compress) in enumerate(COMPRESS.items(), 1):
            server.rotated(5 - page, suffix).write_bytes(compress(line(page, f"12:{page:02}:00")))
        # The clock of the log is an hour ahead in one line of many, and one request takes 40 minutes.
        times = ["12:05:00", "13:06:00", "12:07:00", "12:08:00", "12:35:00", "13:03:00", "13:30:00"]
        times += ["12:50:00", "13:31:00"]
        server.log.write_bytes(b"".join(line(5 + at, time) for at, time in enumerate(times)))
        (server.folder / "access-443.log").write_bytes(line(99, "12:00:00"))
        # With 10 minutes a user who is silent for 27 would have new sessions.
        assert main(options(broker, topic, server, "--until-caught-up", "--session-gap", "30m")) == 0
    found = events(broker, topic)
    assert [event["page_url"] for event in found] == [f"/{page}" for page in range(14)]
    sessions = [event["session_id"] for event in found]
    assert len(set(sessions)) == 2
    assert sessions.count(sessions[6]) == 1
