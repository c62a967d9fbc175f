"""The logs of a real nginx: a sample that was kept, and one under load that logrotate rotates meanwhile."""

import json
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.nginx import NGINX, Nginx, ask, crowd
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.producers.access_log.follow import Follower, Line
from tidemark.producers.access_log.formats import combined, common
from tidemark.producers.access_log.json_lines import json_format
from tidemark.producers.access_log.request_fields import LineParser
from tidemark.producers.access_log.sessions import Sessions
from tidemark.producers.access_log.visits import VisitRules, Visits
from tidemark.producers.pseudonym import Pseudonyms

SAMPLE = Path(__file__).parent / "sample"
LOGROTATE = shutil.which("logrotate", path="/usr/sbin:/usr/bin")
ROTATE = """
{log} {{
    rotate 20
    compress
    delaycompress
    {how}
}}
"""
BY_NAME = "nocreate\n postrotate\n kill -USR1 $(cat {folder}/nginx.pid)\n endscript"
needs_nginx = pytest.mark.skipif(
    NGINX is None or LOGROTATE is None,
    reason="not installed: apt-get install nginx-light logrotate",
)


def visits(parse: LineParser) -> Visits:
    return Visits("sample", VisitRules(parse), Pseudonyms(b"s" * 32), Sessions(1_800_000))


def counted(parse: LineParser, file: Path) -> Counter[str]:
    """Returns the outcomes of the lines of a file."""
    one = visits(parse)
    one.events_from(Line(text, number) for number, text in enumerate(file.read_bytes().splitlines()))
    return Counter({outcome.value: count for outcome, count in one.counts.items()})


@pytest.mark.parametrize(("name", "parse"), [("access.log", combined), ("json.log", json_format({}))])
def test_each_line_of_the_sample_is_what_the_crowd_meant(name: str, parse: LineParser) -> None:
    assert counted(parse, SAMPLE / name) == json.loads((SAMPLE / "expected.json").read_text())


def test_a_log_without_agents_takes_robots_for_visits() -> None:
    expected = Counter(json.loads((SAMPLE / "expected.json").read_text()))
    expected["visit"] += expected.pop("robot") + expected.pop("no_agent")
    assert counted(common, SAMPLE / "common.log") == expected


def test_no_event_of_the_sample_contains_an_address_or_a_query() -> None:
    lines = [Line(text, 0) for text in (SAMPLE / "access.log").read_bytes().splitlines()]
    events = visits(combined).events_from(lines)
    assert events
    assert "127.0.0." in (SAMPLE / "access.log").read_text()
    assert not any(word in str(event) for event in events for word in ("127.0.0.", "secret"))


@pytest.mark.slow
@needs_nginx
@pytest.mark.parametrize("how", [BY_NAME, "copytruncate"], ids=["by name", "by a copy"])
def test_under_load_and_rotation_each_request_is_read_once(tmp_path: Path, how: str) -> None:
    with Nginx(tmp_path) as nginx:
        log, lines, one = tmp_path / "access.log", list[Line](), visits(combined)
        wait_for(log.exists, PATIENCE_S, "a log")
        follower = Follower(log, None, settle_s=0.3, clock=time.time, report=pytest.fail)
        rotate = rotation(tmp_path, log, how)
        expected = Counter[str]()
        with ThreadPoolExecutor(1) as pool:
            for seed in range(6):
                load = pool.submit(ask, nginx.port, crowd(200, seed))
                if how == "copytruncate":
                    load.result()  # logrotate itself loses what is written between its copy and the truncation
                rotate()
                while not load.done():
                    read(follower, lines)
                expected += load.result()
        wait_for(lambda: read(follower, lines) == expected.total(), PATIENCE_S, "all lines")
        follower.close()
    one.events_from(lines)
    assert {outcome.value: count for outcome, count in one.counts.items()} == expected


def read(follower: Follower, lines: list[Line]) -> int:
    """Reads all lines of the log, and returns the number of lines so far."""
    if chunk := follower.read():
        lines.extend(chunk.lines)
    return len(lines)


def rotation(folder: Path, log: Path, how: str) -> Callable[[], object]:
    """Has the real logrotate rotate the log, whenever it is called."""
    config = folder / "logrotate.conf"
    config.write_text(ROTATE.format(log=log, how=how.format(folder=folder)))
    command = [str(LOGROTATE), "--force", "--state", str(folder / "state"), str(config)]
    return lambda: subprocess.run(command, check=True)
