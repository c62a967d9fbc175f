"""The demo as its users see it: first the dashboard's address, at the end the comparison of tables and sent events."""

import re
import sys
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from demo.__main__ import main
from demo.children import child
from demo.options import command
from tests.support.processes import SMALL_DRIVER
from tests.support.seeds import in_turn
from tests.support.terminal import CTRL_C, Terminal
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.command_line.main import run
from tidemark.pipeline.errors import TidemarkError

BEGINS: Final = re.compile(r"Dashboard +http://127\.0\.0\.1:(\d+)/ ")
WINDOW: Final = re.compile(r"\[[\d-]{10} [\d:]{8}, [\d:]{8}\)")
LINES: Final = 5
"""The compared counts: events, users in windows, late events, and each kind of rejected record."""
SHOWN: Final = (r'id="traffic-table"', "late", "malformed")


@pytest.mark.jvm
@pytest.mark.broker
@pytest.mark.long
@in_turn(1, 4)
def test_the_demo_ends_with_the_truth_and_leaves_its_page_and_its_warehouse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, setting in {**SMALL_DRIVER, "DEMO_SECONDS": "12"}.items():
        monkeypatch.setenv(name, setting)
    arguments = ("--rate", "500", "--keep", str(tmp_path / "kept"))
    with Terminal("demo", *arguments, rows=24, columns=80) as demo:
        wait_for(lambda: BEGINS.search(demo.said), PATIENCE_S, "the address of the page")
        (port,) = BEGINS.findall(demo.said)
        wait_for(lambda: shows(port, demo), PATIENCE_S, "a page with the traffic")
        wait_for(lambda: "The dashboard stays at" in demo.said, PATIENCE_S, "the final check")
        while_it_ran, _, at_the_end = demo.said.partition("stopping")
        assert WINDOW.search(while_it_ran)
        assert len(re.findall(r"mequal\x1b", at_the_end)) == LINES
        assert shows(port, demo)
        demo.press(CTRL_C)
        assert demo.popen.wait(PATIENCE_S) == 0
    assert (tmp_path / "kept" / "ledger").is_dir()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--raet", "500"], 2),
        (["--rate", "many"], 2),
        (["--topic", "mine"], 2),  # the demo sets it
        (["--format", "json"], 2),  # its service reads Avro
        (["--keep", str(Path(__file__).parent)], 2),  # it is not empty
        (["--help"], 0),
    ],
)
def test_arguments_are_options_of_the_producer(words: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == code
    said = capsys.readouterr()
    assert words[0].replace("raet", "rate") in said.out + said.err


@pytest.mark.parametrize("keep", [[], ["--keep", "{}"], ["--keep={}"]])
def test_all_other_arguments_reach_the_producer(keep: list[str], tmp_path: Path) -> None:
    found = list[tuple[Path | None, Sequence[str]]]()

    def note(folder: Path | None, of_producer: Sequence[str]) -> int:
        found.append((folder, of_producer))
        return 0

    arguments = ["--rate", "5", *(word.format(tmp_path / "new") for word in keep), "--duration", "2s"]
    assert run(command(note, arguments), arguments) == 0
    assert found == [(tmp_path / "new" if keep else None, ["--rate", "5", "--duration", "2s"])]


def test_a_producer_may_finish_and_a_service_may_not(tmp_path: Path) -> None:
    with child("producer", [sys.executable, "-c", ""], tmp_path) as finished:
        finished.process.wait(PATIENCE_S)
        finished.check(may_finish=True)
        finished.end()
        with pytest.raises(TidemarkError, match="ended by itself with exit code 0"):
            finished.check()


def shows(port: str, demo: Terminal) -> bool:
    """Returns whether the dashboard has the traffic and its problems."""
    assert demo.popen.poll() is None, demo.said
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/pipeline", timeout=PATIENCE_S) as answer:
        page = answer.read().decode()
        return all(word in page for word in SHOWN)
    return False
