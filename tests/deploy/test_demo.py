"""The demo as its users see it: first the dashboard's address, at the end the comparison of tables and sent events."""

import re
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from demo.__main__ import main
from tests.support.processes import SMALL_DRIVER, Process
from tests.support.waiting import wait_for

PATIENCE_S: Final = 180
BEGINS: Final = re.compile(r"Dashboard +http://127\.0\.0\.1:(\d+)/ ")
LINES: Final = 5
"""The compared counts: events, users in windows, and each kind of rejected record."""
SHOWN: Final = (r'id="traffic-table"', "late", "malformed")


@pytest.mark.jvm
@pytest.mark.broker
@pytest.mark.timeout(600)
def test_the_demo_opens_with_its_page_and_ends_with_the_truth(tmp_path: Path) -> None:
    environment = {**SMALL_DRIVER, "DEMO_SECONDS": "5", "COLUMNS": "200"}
    with Process([sys.executable, "-m", "demo", "--rate", "500"], tmp_path / "demo.log", environment) as demo:
        wait_for(lambda: BEGINS.match(demo.said), PATIENCE_S, "the address of the page")
        (port,) = BEGINS.findall(demo.said)
        wait_for(lambda: shows(port, demo), PATIENCE_S, "a page that tells of the traffic")
        assert demo.wait(PATIENCE_S) == 0, demo.said
    assert len(re.findall(r"│ equal +│", demo.said)) == LINES


@pytest.mark.parametrize(("words", "code"), [(["--raet", "500"], 2), (["--rate", "many"], 2), (["--help"], 0)])
def test_arguments_are_options_of_the_producer(words: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == code
    said = capsys.readouterr()
    assert "--rate" in said.out + said.err


def shows(port: str, demo: Process) -> bool:
    """Returns whether the dashboard has the traffic and its problems."""
    assert demo.alive, demo.said
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
        page = answer.read().decode()
        return all(word in page for word in SHOWN)
    return False
