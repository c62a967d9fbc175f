"""Against a real broker: a wrong --format loses no line, and the corrected run reads them all."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from producers.cli import main
from tests.producers.access_log.log_writer import Server
from tests.producers.access_log.server_writers import Served, apache_line, caddy_line
from tests.producers.access_log.test_exactly_once import SALT, START, MakeTopic, events, following, kept, options
from tests.producers.access_log.test_formats import AGENT
from tests.producers.access_log.test_read_as_written import APACHE
from tests.producers.test_producers_delivery import PARTITIONS
from tests.support.kafka_cluster import Cluster
from tests.support.waiting import wait_for

pytestmark = pytest.mark.broker
LOG_FORMAT = APACHE[2]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "salt").write_text(SALT)
    (tmp_path / "log").mkdir()
    with closing(Server(tmp_path / "log")) as one:
        yield one


def served(number: int) -> Served:
    """A page view of one of five users."""
    address, uri = f"203.0.113.{number % 5}", f"/page-{number}"
    return Served(address, START, "GET", uri, 200, None, None, AGENT, address, "shop.example")


def write(server: Server, count: int) -> None:
    for number in range(count):
        server.say(apache_line(LOG_FORMAT, served(number)).encode())
    server.write()


@pytest.mark.parametrize("form", ["vhost_combined", LOG_FORMAT])
def test_the_corrected_run_reads_every_line(
    broker: Cluster, make_topic: MakeTopic, server: Server, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    topic = make_topic(PARTITIONS)
    write(server, 300)
    assert main(options(broker, topic, server, "--until-caught-up")) == 2
    said = capsys.readouterr().err
    assert "the first 300 lines are not in the format combined ('shop.example:443' is not an IP address)" in said
    assert "correct --format" in said
    assert said.endswith(f"the line: {server.written[-1].decode()}\n")
    assert (events(broker, topic), kept(broker, topic).position) == ([], None)
    assert main(options(broker, topic, server, "--until-caught-up", "--format", form)) == 0
    found = events(broker, topic)
    assert {event["page_url"] for event in found} == {f"https://shop.example/page-{number}" for number in range(300)}
    assert len({event["user_id"] for event in found}) == 5


def test_while_the_log_is_followed_it_is_a_warning_and_then_an_error(
    broker: Cluster, make_topic: MakeTopic, server: Server, tmp_path: Path
) -> None:
    topic = make_topic(PARTITIONS)
    write(server, 20)
    with following(broker, topic, server, tmp_path / "said", "--format", "caddy") as process:
        wait_for(lambda: "the first 20 lines are not in the format caddy" in process.said, 60, "a warning")
        assert process.alive
        write(server, 80)
        assert process.wait(60) == 2
    assert "the first 100 lines are not in the format caddy" in process.said
    assert kept(broker, topic).position is None


def test_caddys_lines_are_visits(broker: Cluster, make_topic: MakeTopic, server: Server) -> None:
    topic = make_topic(PARTITIONS)
    for number in range(10):
        server.say(caddy_line(served(number)).encode())
    server.write()
    assert main(options(broker, topic, server, "--until-caught-up", "--format", "caddy")) == 0
    assert len({event["user_id"] for event in events(broker, topic)}) == 5
