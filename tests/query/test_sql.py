"""`tidemark sql`: DuckDB's own shell as a process, over a warehouse that a service may be writing."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.support.seeds import drawn
from tests.support.terminal import Terminal
from tests.support.waiting import PATIENCE_S, wait_for
from tests.verify.conftest import play
from tests.verify.site import PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.cli import main
from tidemark.pipeline.tables.schemas import LEDGER

pytestmark = pytest.mark.slow
ASKED = "SELECT window_start, user_id, page_views FROM page_views ORDER BY ALL LIMIT 2"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return play(Site(tmp_path_factory.mktemp("sql"), PAGE_VIEWS_ALONE).open())


def ask(site: Site, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tidemark.pipeline.cli", "sql", f"--warehouse={site.warehouse}", *words]
    return subprocess.run(command, input=typed, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def test_an_answer_as_csv_json_or_a_table(site: Site) -> None:
    lines = list(csv.DictReader(io.StringIO(ask(site, ASKED, "--format", "csv").stdout)))
    assert [(one["user_id"], one["page_views"]) for one in lines] == [("ann", "2"), ("bob", "2")]
    assert {one["window_start"] for one in lines} == {"2024-05-01 12:00:00+00"}
    assert json.loads(ask(site, ASKED, "--format=json").stdout)[1] == lines[1] | {"page_views": 2}
    shown = ask(site, ASKED).stdout
    assert "│ ann" in shown
    assert "user_id" in shown


@pytest.mark.parametrize("encoding", drawn(["latin-1", "ascii"], 1))
def test_an_output_may_lack_characters(site: Site, tmp_path: Path, encoding: str) -> None:
    warehouse = shutil.copytree(site.warehouse, tmp_path / "größe→")
    text = "SELECT 'ö→😀' AS text"
    outputs = {}
    for words in (
        ("sql", text),
        ("sql", text, "--format=csv"),
        ("sql", text, "--format=json"),
        ("status",),
        ("verify",),
    ):
        command = [sys.executable, "-m", "tidemark.pipeline.cli", *words, f"--warehouse={warehouse}"]
        variables = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run(command, capture_output=True, env=variables, check=False, timeout=PATIENCE_S)
        assert (done.returncode, done.stderr) == (0, b""), words
        outputs[words[-1]] = done.stdout.decode(encoding)
    escaped = r"\u2192\U0001f600"
    letter = "ö" if encoding == "latin-1" else r"\xf6"
    assert outputs[text].startswith("+---")
    assert f"{letter}{escaped} |" in outputs[text]
    assert outputs["--format=csv"] == f"text\n{letter}{escaped}\n"
    assert json.loads(outputs["--format=json"]) == [{"text": "ö→😀"}]
    assert "warehouse   " in outputs["status"]
    assert "holds" in outputs["verify"]


def test_a_shell_answers_what_is_typed(site: Site) -> None:
    told = ask(site, "--format=csv", typed="SELECT count(*) AS rows FROM page_views;\nSELECT 1 AS one;\n")
    assert told.returncode == 0
    assert told.stdout.split() == ["rows", "5", "one", "1"]


def test_each_answer_is_of_what_is_there_when_it_is_asked(tmp_path: Path) -> None:
    site = Site(tmp_path, PAGE_VIEWS_ALONE).open().batch(Event(1))
    command = [sys.executable, "-m", "tidemark.pipeline.cli", "sql", f"--warehouse={tmp_path}", "--format=csv"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdin
        assert shell.stdout
        for events, seen in (((Event(11),), "1"), ((Event(25), Event(26, "bob")), "2")):
            site.batch(*events)
            shell.stdin.write("SELECT count(*) AS n FROM page_views;\n")
            shell.stdin.flush()
            assert [shell.stdout.readline().strip() for _ in range(2)] == ["n", seen]
        shell.stdin.close()
    assert shell.returncode == 0


def test_columns_and_tables_say_what_they_are(site: Site) -> None:
    found = ask(
        site, "SELECT comment FROM duckdb_columns() WHERE table_name = 'ledger' AND column_name = 'committed_at'"
    )
    assert "When the batch was committed, by the service's clock." in found.stdout
    found = ask(site, "SELECT comment FROM duckdb_views() WHERE view_name = 'ledger'", "--format=csv")
    assert found.stdout.splitlines()[1].strip('"') == LEDGER.about.description


def test_open_windows_are_there(site: Site) -> None:
    found = ask(site, "SELECT state, count(*) AS n FROM page_views_live GROUP BY 1 ORDER BY 1", "--format=csv")
    assert found.stdout.split() == ["state,n", "closed,4", "fired,1", "open,2"]


@pytest.mark.parametrize("statement", ["DELETE FROM page_views", "INSERT INTO page_views SELECT * FROM page_views"])
def test_nothing_can_be_written(site: Site, statement: str) -> None:
    before = {path for path in Path(site.warehouse).rglob("*") if path.is_file()}
    told = ask(site, statement)
    assert told.returncode == 1
    assert re.match("(Binder|Catalog) Error", told.stderr.strip())
    assert {path for path in Path(site.warehouse).rglob("*") if path.is_file()} == before


def test_a_mistake_is_exit_code_1_and_says_what_is_wrong(site: Site) -> None:
    told = ask(site, "SELECT nothing FROM page_views")
    assert told.returncode == 1
    assert '"nothing" not found' in told.stderr
    assert not told.stdout


def test_the_statements_can_be_had_for_a_session_of_ones_own(site: Site) -> None:
    for engine, read in (("spark", f"delta.`{site.warehouse}/page_views`"), ("duckdb", "delta_scan(")):
        printed = ask(site, "--print", engine).stdout
        assert read in printed
        assert printed.count("CREATE OR REPLACE VIEW") == 4


@pytest.mark.parametrize(
    ("warehouse", "said"),
    [("/nowhere", "there is no Tidemark warehouse"), ("s3://bucket/tidemark", "is not a local folder")],
)
def test_what_cannot_be_read_is_exit_code_2(warehouse: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", f"--warehouse={warehouse}", "SELECT 1"]) == 2
    assert said in capsys.readouterr().err


def test_without_its_packages_it_says_which(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["sql", f"--warehouse={site.warehouse}", "SELECT 1"]) == 2
    assert "pip install 'tidemark-lake[sql]'" in capsys.readouterr().err
    assert DeltaTable(LEDGER.uri(str(site.warehouse))).version() > 0


HOSTILE = "'a' || chr(27) || '[2J' || chr(155) || chr(8238)"


@pytest.mark.parametrize(
    ("form", "said"),
    drawn(
        [
            pytest.param("table", "a\\x1b[2J\\x9b\\u202e"),
            pytest.param("csv", "a\\x1b[2J\\x9b\\u202e"),
            pytest.param("json", "a\\u001b[2J\\u009b\\u202e"),
        ],
        count=1,
    ),
)
def test_what_events_hold_does_nothing_to_a_terminal(site: Site, form: str, said: str) -> None:
    statement = f"SELECT {HOSTILE} AS user_id, '=1+1' AS page_url"
    for shown in (ask(site, statement, f"--format={form}"), ask(site, f"--format={form}", typed=f"{statement};\n")):
        assert said in shown.stdout
        assert all(char.isprintable() or char == "\n" for char in shown.stdout)
        assert ("'=1+1" in shown.stdout) == (form == "csv")
    mistake = ask(site, f"SELECT ({HOSTILE})::INT", f"--format={form}")
    assert mistake.returncode == 1
    assert "a\\x1b[2J\\x9b\\u202e" in mistake.stderr


def test_in_a_terminal_answers_are_text_too(site: Site) -> None:
    with Terminal("tidemark.pipeline.cli", "sql", f"--warehouse={site.warehouse}") as shell:
        answered = [0]

        def reached(words: str) -> bool:
            """Whether the words were said; answers what the shell asks its terminal meanwhile."""
            for question, answer in (("\x1b[c", b"\x1b[?1;2c"), ("\x1b[6n", b"\x1b[1;1R")):
                place = shell.said.find(question, answered[0])
                if place >= 0:
                    answered[0] = place + 1
                    shell.press(answer)
            return words in shell.said

        wait_for(lambda: reached("D "), PATIENCE_S, "the prompt")
        shell.press(f"SELECT {HOSTILE} AS user_id;\r".encode())
        wait_for(lambda: reached("a\\x1b[2J\\x9b\\u202e"), PATIENCE_S, "the answer")
        assert "\x1b[2J" not in shell.said
        shell.press(b".exit\r")
        assert shell.popen.wait(PATIENCE_S) == 0
