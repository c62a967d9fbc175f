"""`tidemark sql-server` as a process, asked by beeline, Hive's own client of its JDBC driver, as another."""

import signal
import socket
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.runtime.java import find_java
from tests.support.processes import Process, tidemark
from tests.support.waiting import wait_for
from tests.verify.conftest import play
from tests.verify.site import PAGE_VIEWS_ALONE, Site

pytestmark = pytest.mark.jvm
START_S = 120


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return play(Site(tmp_path_factory.mktemp("warehouse"), PAGE_VIEWS_ALONE).open())


@pytest.fixture(scope="module")
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture(scope="module")
def server(site: Site, port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    log = tmp_path_factory.mktemp("server") / "log"
    with tidemark(log, "sql-server", f"--warehouse={site.warehouse}", f"--port={port}", "--memory=1g") as process:
        wait_for(lambda: "the SQL end point is open" in process.said or not process.alive, START_S, "its opening")
        assert process.alive, process.said
        yield process
        process.send(signal.SIGTERM)
        assert process.wait() == 0, process.said


def ask(port: int, statement: str) -> subprocess.CompletedProcess[str]:
    """What beeline says, as CSV."""
    found = find_spec("pyspark")
    assert found
    assert found.origin
    jars = Path(found.origin).parent / "jars" / "*"
    return subprocess.run(
        [
            find_java() / "bin" / "java", "-cp", jars, "org.apache.hive.beeline.BeeLine",
            "-u", f"jdbc:hive2://127.0.0.1:{port}", "--silent=true", "--outputformat=csv2", "-e", statement,
        ],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.usefixtures("server")
def test_a_client_of_hive_asks_the_tables(port: int) -> None:
    told = ask(
        port,
        "SHOW TABLES; SELECT user_id, CAST(sum(page_views) AS INT) AS views FROM page_views GROUP BY 1 ORDER BY 1; "
        "SELECT state, count(*) AS n FROM page_views_live GROUP BY 1 ORDER BY 1; "
        "SELECT min(window_start) = TIMESTAMP '2024-05-01 12:00:00' AS is_time FROM page_views; "
        "DESCRIBE page_views;",
    )
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert {line.split(",")[1] for line in lines if line.startswith("default,")} == {
        "dead_letters", "ledger", "page_views", "page_views_live",
    }  # fmt: skip
    for answer in (
        ["user_id,views", "ann,4", "bob,3"],
        ["state,n", "closed,4", "fired,1", "open,2"],
        ["is_time", "true"],
    ):
        begin = lines.index(answer[0])
        assert lines[begin : begin + len(answer)] == answer
    assert "window_start,timestamp,Begin of the window." in lines


@pytest.mark.usefixtures("server")
def test_an_address_that_is_taken_is_exit_code_2(site: Site, port: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql-server", f"--warehouse={site.warehouse}", f"--port={port}"]) == 2
    assert f"cannot listen on 127.0.0.1:{port}: " in capsys.readouterr().err


def test_no_warehouse_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql-server", f"--warehouse={tmp_path}"]) == 2
    assert "there is no Tidemark warehouse" in capsys.readouterr().err
