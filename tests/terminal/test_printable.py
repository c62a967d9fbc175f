"""Whatever events hold, a terminal shows it and does nothing else."""

import csv
import io
import json
import logging
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import structlog

from tests.support.seeds import SEED
from tidemark.command_line.printable import printable, printable_lines
from tidemark.command_line.terminal import Console, Table, styled
from tidemark.pipeline.cli import main
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.logs import configure_logs
from tidemark.pipeline.reading.shell_output import harmless_lines
from tidemark.pipeline.web.pages.page_text import as_text

ROOT = Path(__file__).parents[2]
ACTS = (
    "\x1b[31m", "\x1b]8;;http://x\x07y", "\x1b]52;c;eA==\x07", "\x9b31m", "\x90q", "\x07", "\b\b\b", "\r", "\x7f",
    "\x00", "\u202e", "\u2066", "\u200f", "\u061c", "\u2028", "\u200b", "\U000e0041", "\ud800", "\ufeff",
)  # fmt: skip
SHOWS = (
    "[/x]",
    "[link=http://x]y[/link]",
    "[bold]",
    "[/]",
    ":smile:",
    "\\[",
    "{x}",
    "%s",
    "é漢字👍",
    "=1+1",
    "",
    " ",
    '"',
    ",",
)


SOME_OR_ALL: Final = pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.slow)])


def hostile(count: int) -> Iterator[str]:
    """Yields random texts of what acts and what shows."""
    chance = random.Random(SEED)
    for _ in range(count):
        yield "".join(chance.choice(chance.choice((ACTS, SHOWS, "ab"))) for _ in range(chance.randrange(1, 9)))


def harmless(text: str) -> bool:
    return all(char.isprintable() or char == "\n" for char in text)


@pytest.mark.parametrize("text", ACTS)
def test_what_acts_is_written_as_an_escape(text: str) -> None:
    assert harmless(printable(f"a{text}b"))
    assert printable(f"a{text}b").startswith("a\\")


@pytest.mark.parametrize("text", SHOWS)
def test_what_shows_is_as_it_was(text: str) -> None:
    assert printable(text) == text
    assert printable_lines(f"{text}\n{text}") == f"{text}\n{text}"


@SOME_OR_ALL
def test_thousands_of_hostile_texts_are_shown_as_text_wherever_they_are_in_a_table(count: int) -> None:
    console = Console(file=io.StringIO(), width=200, color_system="truecolor", force_terminal=True)
    table = Table("a[/x]\x1b[2J", title="[/x]\x1b[2J", caption="[link=http://x]")
    for text in hostile(count):
        table.add_row(text)
    console.print(table)
    for text in hostile(count // 20):
        console.print(text, styled(text, "bold"), soft_wrap=True)
    assert isinstance(console.file, io.StringIO)
    styles = re.compile(r"\x1b\[[0-9;]*m")  # what the console adds: no link, and nothing that moves
    written = console.file.getvalue()
    assert harmless(styles.sub("", written))
    assert "[link=http://x]y[/link]" in written
    assert "\x1b[31m" not in written


@SOME_OR_ALL
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_thousands_of_hostile_lines_of_an_answer_are_shown_as_text(form: str, count: int) -> None:
    lines = (f'"{text.replace(chr(34), "")}"\n' for text in hostile(count))
    assert harmless("".join(harmless_lines(lines, form)))


def test_json_keeps_its_values() -> None:
    text = "\x9b\u202e\U000e0041é\xa0"
    assert json.loads("".join(harmless_lines([json.dumps(text, ensure_ascii=False) + "\n"], "json"))) == text


def test_no_cell_of_csv_is_a_formula() -> None:
    texts = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", '=a,"b"', "-5", "+1.5e3", "a=1", "NULL", ""]
    file = io.StringIO()
    csv.writer(file).writerow(texts)
    (row,) = csv.reader(harmless_lines([file.getvalue()], "csv"))
    assert row == ["'=1+1", "'+cmd|' /C calc'!A0", "'-2+3", "'@SUM(A1)", "\\t=1", '\'=a,"b"', *texts[6:]]


def test_a_page_shows_what_turns_the_direction_of_others() -> None:
    assert as_text("a\u202eb\nc") == "a\\u202eb\nc"
    assert as_text(5) == 5


def test_a_message_of_a_command_is_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object) -> None:
        raise SetUpError("a\x1b[31m\u202e")

    monkeypatch.setattr("tidemark.pipeline.cli.run", fail)
    assert main([]) == 2
    assert capsys.readouterr().err == "tidemark: a\\x1b[31m\\u202e\n"


@pytest.fixture
def _logs_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    logging.captureWarnings(capture=False)
    root.handlers[:], root.level = handlers, level


@pytest.mark.usefixtures("_logs_as_before")
@pytest.mark.parametrize("log_format", ["console", "json"])
def test_a_line_of_the_log_is_text(log_format: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json" if log_format == "json" else "console")
    said = "a\x1b[31m\u202e\nb"
    structlog.get_logger().info(said, user=said, users=[said])
    logging.getLogger("library").error(said, exc_info=ValueError(said))
    assert harmless(capsys.readouterr().err)


def test_no_module_prints_by_rich_itself() -> None:
    shipped = ("command_line", "http_server", "kafka_access", "pipeline", "producers", "schemas")
    files = [file for package in shipped for file in (ROOT / package).rglob("*.py")]
    users = [file for file in files if re.search(r"^\s*(from|import) rich\b", file.read_text(), re.MULTILINE)]
    known = {"command_line/terminal.py"}
    assert {str(file.relative_to(ROOT)) for file in users} <= known
