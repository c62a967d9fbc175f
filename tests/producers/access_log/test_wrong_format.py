"""Against a real broker: logs of others are read, and a wrong --format loses no line."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.producers.access_log.log_writer import Server
from tests.producers.access_log.server_writers import Served, apache_line, caddy_line
from tests.producers.access_log.test_exactly_once import SALT, START, MakeTopic, events, following, kept, options
from tests.producers.access_log.test_formats import AGENT, NOON_MS
from tests.producers.access_log.test_read_as_written import APACHE
from tests.producers.test_producers_delivery import PARTITIONS
from tests.support.kafka_cluster import Cluster
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.producers.access_log.formats import TEXT
from tidemark.producers.cli import main

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
    assert "resumes" not in capsys.readouterr().err
    assert main(options(broker, topic, server, "--until-caught-up", "--format", form)) == 0
    assert "has read 300 lines and resumes after them; another --name" in capsys.readouterr().err


def test_a_log_of_one_rejected_kind_ends_like_one_in_a_wrong_format(
    broker: Cluster, make_topic: MakeTopic, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = make_topic(PARTITIONS)
    server.log.write_text("".join(f"{line(f'http://shop.example/{number}')}\n" for number in range(100)))
    assert main(options(broker, topic, server, "--until-caught-up")) == 2
    assert "the first 100 lines are requests for whole URLs of another site" in capsys.readouterr().err
    assert kept(broker, topic).position is None
    assert main(options(broker, topic, server, "--until-caught-up", "--site", "https://shop.example")) == 0
    assert len(events(broker, topic)) == 100


def test_while_the_log_is_followed_it_is_a_warning_and_then_an_error(
    broker: Cluster, make_topic: MakeTopic, server: Server, tmp_path: Path
) -> None:
    topic = make_topic(PARTITIONS)
    write(server, 20)
    with following(broker, topic, server, tmp_path / "said", "--format", "caddy") as process:
        wait_for(lambda: "the first 20 lines are not in the format caddy" in process.said, PATIENCE_S, "a warning")
        assert process.alive
        write(server, 80)
        assert process.wait(PATIENCE_S) == 2
    assert "the first 100 lines are not in the format caddy" in process.said
    assert kept(broker, topic).position is None


def line(page: str, *, address: str = "203.0.113.7", user: str = "-", second: str = "00", method: str = "GET") -> str:
    """Returns a line in the format combined."""
    return f'{address} - {user} [01/May/2024:12:00:{second} +0000] "{method} {page} HTTP/1.1" 200 5 "-" "{AGENT}"'


TIMES = {NOON_MS, NOON_MS + 999, NOON_MS + 60_000, int(START.timestamp() * 1000)}
NGINX = {"remote_addr": "203.0.113.7", "time_iso8601": NOON_MS, "status": 200, "http_user_agent": AGENT}
CADDY = {"client_ip": "203.0.113.7", "method": "GET", "host": "example.com", "uri": "/"}
GOOGLE = {"remoteIp": "203.0.113.7", "requestMethod": "GET", "status": 200, "userAgent": AGENT}
ALB = '$type $time_iso8601 $elb $remote_addr $target $x1 $x2 $x3 $status $x4 $x5 $x6 "$request" "$http_user_agent"'
WHOLE_URLS = [
    "https://shop.example:443/a?b=c",
    "https://shop.example:443",
    "https://shop.example:8443/a%20b",
    "https://shop.example:443/logo.png",
    "http://other.example:80/",
]
"""Targets as load balancers log them."""
TRAEFIK = {"Method": "GET", "Path": "/", "Status": 200, "Host": "shop.example", "A": AGENT}


@dataclass(frozen=True)
class Log:
    """A log of another server, and the pages, the number of users and the other outcomes that are read from it."""

    form: str
    lines: Sequence[str]
    pages: Sequence[str]
    users: int = 1
    others: str = ""
    more: Sequence[str] = ()


LOGS = [
    Log(
        "combined",
        [
            line("/bom", address="\ufeff203.0.113.7"),
            line("/list", address="203.0.113.7, 10.0.0.1"),
            line("/port", address="203.0.113.7:50412"),
            line("/mapped", address="::ffff:203.0.113.7"),
            line("/user", user="Jane [admin"),
            line("/leap", second="60"),
            line("/a\u00a0b"),
            line("/caf%c3%a9"),
            line("/caf%C3%A9"),
            line("/id;jsessionid=1F2E"),
            line("/id%3Bjsessionid=1F2E"),
            line("/?cat%5B%5D=1&token=x"),
            *(line("/nobody", address=address) for address in ("-", "localhost", "www.example.com:443 203.0.113.9")),
            line("/", method="VERSION-CONTROL"),
            line("/%2eenv"),
            *(line(f"/app-1.0.{extension}") for extension in ("jar", "deb", "rpm", "apk", "msi", "pkg")),
        ],
        [
            "/bom",
            "/list",
            "/port",
            "/mapped",
            "/user",
            "/leap",
            "/a%C2%A0b",
            "/caf%C3%A9",
            "/caf%C3%A9",
            "/id",
            "/id",
            "/?cat%5B%5D=1",
        ],
        others="6 asset, 3 malformed, 1 other_method, 1 probe",
        more=["--query-parameters", "cat[]"],
    ),
    Log(
        "vhost_combined",
        [line(f"/{port}", address=f"Shop.example{port} ::{number}") for number, port in enumerate(("", ":80", ":443"))],
        ["https://shop.example/", "http://shop.example/:80", "https://shop.example/:443"],
        users=3,
    ),
    Log(
        f"<$priority>$version $stamp $server nginx - - - {TEXT['combined']}",
        [f"<190>1 2024-05-01T12:00:00Z web-1 nginx - - - {line('/', address=f'::{number}')}" for number in range(2)],
        ["/", "/"],
        users=2,
    ),
    Log(
        f"$month $day $clock $server nginx: {TEXT['combined']}",
        [f"May {day} 12:00:00 web-1 nginx: {line('/')}" for day in (" 1", "12")],
        ["/", "/"],
    ),
    Log(
        "json",
        [
            json.dumps({**NGINX, "request": "GET /absent HTTP/1.1", "http_referer": "-", "host": "-"}),
            json.dumps({**NGINX, "request_method": "GET", "request_uri": "/apart", "http_referer": None}),
            json.dumps({**NGINX, "request": "GET / HTTP/1.1", "http_user_agent": "-"}),
            json.dumps({**NGINX, "request": "GET / HTTP/1.1", "http_user_agent": None}),
        ],
        ["/absent", "/apart"],
        others="2 no_agent",
    ),
    Log(
        "caddy",
        [
            json.dumps({"ts": NOON_MS / 1000, "status": 200, "request": {**CADDY, "headers": {"User-Agent": [AGENT]}}}),
            *(caddy_line(served(number)) for number in range(4)),
        ],
        ["https://example.com/", *(f"https://shop.example/page-{number}" for number in range(4))],
        users=5,
    ),
    Log(
        ALB,
        [
            f"https 2024-05-01T12:00:00.999Z app/lb/50dc 203.0.113.{number}:2817 10.0.0.1:80 0 0 0 200 200 34 366 "
            f'"GET {url} HTTP/2.0" "{AGENT}" ECDHE TLSv1.2'
            for number, url in enumerate(WHOLE_URLS)
        ],
        ["https://shop.example/a", "https://shop.example/", "https://shop.example:8443/a%20b"],
        users=3,
        others="1 asset, 1 other_site",
    ),
    Log(
        "google",
        [json.dumps({"timestamp": "2024-05-01T12:00:00.999Z", "httpRequest": {**GOOGLE, "requestUrl": WHOLE_URLS[0]}})],
        ["https://shop.example/a"],
    ),
    Log(
        "json",
        [json.dumps({**TRAEFIK, "Client": {"IP": "::1"}, "StartUTC": "2024-05-01T12:00:00.999999999Z"})],
        ["https://shop.example/"],
        more=[
            "--json-fields",
            "address=Client.IP,time=StartUTC,method=Method,uri=Path,status=Status,host=Host,agent=A",
        ],
    ),
]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.form)
def test_logs_of_others_are_read(
    broker: Cluster, make_topic: MakeTopic, server: Server, capsys: pytest.CaptureFixture[str], log: Log
) -> None:
    topic = make_topic(PARTITIONS)
    server.log.write_text("".join(f"{text}\n" for text in log.lines))
    assert main(options(broker, topic, server, "--until-caught-up", "--format", log.form, *log.more)) == 0
    found = events(broker, topic)
    assert sorted(event["page_url"] for event in found) == sorted(log.pages)
    assert len({event["user_id"] for event in found}) == log.users
    assert {event["referrer"] for event in found} == {None}
    assert {event["event_time"] for event in found} <= TIMES
    assert capsys.readouterr().out.strip().partition("; no visits: ")[2] == log.others
