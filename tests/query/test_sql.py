"""`tidemark sql`: DuckDB's own shell as a process, over a warehouse that a service may be writing."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pipeline.cli import main
from pipeline.tables.schemas import LEDGER
from tests.verify.conftest import play
from tests.verify.site import PAGE_VIEWS_ALONE, Event, Site

pytestmark = pytest.mark.slow
ASKED = "SELECT window_start, user_id, page_views FROM page_views ORDER BY ALL LIMIT 2"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return play(Site(tmp_path_factory.mktemp("sql"), PAGE_VIEWS_ALONE).open())


def ask(site: Site, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipeline.cli", "sql", f"--warehouse={site.warehouse}", *words]
    return subprocess.run(command, input=typed, capture_output=True, text=True, check=False, timeout=300)


def test_an_answer_as_csv_json_or_a_table(site: Site) -> None:
    lines = list(csv.DictReader(io.StringIO(ask(site, ASKED, "--format", "csv").stdout)))
    assert [(one["user_id"], one["page_views"]) for one in lines] == [("ann", "2"), ("bob", "2")]
    assert {one["window_start"] for one in lines} == {"2024-05-01 12:00:00+00"}
    assert json.loads(ask(site, ASKED, "--format=json").stdout)[1] == lines[1] | {"page_views": 2}
    shown = ask(site, ASKED).stdout
    assert "│ ann" in shown
    assert "user_id" in shown


def test_a_shell_answers_what_is_typed(site: Site) -> None:
    told = ask(site, "--format=csv", typed="SELECT count(*) AS rows FROM page_views;\nSELECT 1 AS one;\n")
    assert told.returncode == 0
    assert told.stdout.split() == ["rows", "5", "one", "1"]


def test_each_answer_is_of_what_is_there_when_it_is_asked(tmp_path: Path) -> None:
    site = Site(tmp_path, PAGE_VIEWS_ALONE).open().batch(Event(1))
    command = [sys.executable, "-m", "pipeline.cli", "sql", f"--warehouse={tmp_path}", "--format=csv"]
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
    [("/nowhere", "there is no Tidemark warehouse"), ("s3://bucket/tidemark", "is no folder of this machine")],
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
