"""The metrics of the SQL server, as Prometheus reads them: connections, and statements by outcome."""

import re
from collections.abc import Iterator
from contextlib import suppress
from urllib.request import urlopen

import psycopg
import pytest

from demo.children import free_port
from tests.deploy.files import ROOT
from tests.query.sql_clients import address, serving
from tests.support.exposed_metrics import names_of, values_of
from tests.support.sockets import Address, family, listening
from tests.support.waiting import PATIENCE_S, wait_for
from tests.verify.site import Site
from tidemark.pipeline.cli import main
from tidemark.pipeline.sql_server.sql_metrics import SqlMetrics

pytestmark = pytest.mark.slow
PAGE = ROOT / "docs" / "operations.md"


@pytest.fixture(scope="module")
def ports(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """The ports of a server, for SQL and for metrics; it listens on no other."""
    metrics = free_port()
    with serving(site, tmp_path_factory.mktemp("server"), f"--metrics-port={metrics}") as (port, process):
        assert listening(*family(process.popen.pid)) == {Address("127.0.0.1", port), Address("127.0.0.1", metrics)}
        yield port, metrics


def test_open_connections_are_counted(ports: tuple[int, int]) -> None:
    port, metrics = ports
    wait_for(lambda: connections(metrics) == 0, PATIENCE_S, "the end of earlier connections")
    with psycopg.connect(address(port)), psycopg.connect(address(port)):
        assert connections(metrics) == 2
    wait_for(lambda: connections(metrics) == 0, PATIENCE_S, "the end of both connections")


def test_statements_are_counted_by_outcome(ports: tuple[int, int]) -> None:
    port, metrics = ports
    before = statements(metrics)
    assert before.keys() == {"answered", "refused", "failed", "store_failed"}
    with psycopg.connect(address(port), autocommit=True) as client:
        client.execute("SELECT 1; SELECT 2")
        client.execute("SELECT count(*) FROM page_views WHERE user_id = %s", ("ann",), prepare=True)
        with client.cursor().copy("COPY (SELECT 1) TO STDOUT") as copied:
            assert [*copied]
        for statement in (b"DROP TABLE page_views", b"SELECT * FROM read_csv('/etc/passwd')", b"SELECT nonsense"):
            for prepare in (False, True):
                with suppress(psycopg.Error):
                    client.execute(statement, prepare=prepare)
    changes = {outcome: count - before[outcome] for outcome, count in statements(metrics).items()}
    assert changes == {"answered": 4, "refused": 4, "failed": 2, "store_failed": 0}


def test_the_documents_have_each_metric() -> None:
    assert names_of(SqlMetrics(lambda: 0).registry) == set(
        re.findall(r"^\| `(tidemark_sql_\w+)", PAGE.read_text(), re.MULTILINE)
    )


def test_a_port_of_metrics_that_is_taken_is_exit_code_2(
    site: Site, ports: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    taken = ports[1]
    assert main(["sql-server", f"--warehouse={site.warehouse}", "--port=0", f"--metrics-port={taken}"]) == 2
    error = capsys.readouterr().err
    assert f"cannot serve metrics at 127.0.0.1:{taken}: Address already in use; choose another --metrics-port" in error


def connections(port: int) -> float:
    (value,) = samples(port, "tidemark_sql_connections").values()
    return value


def statements(port: int) -> dict[str, float]:
    return samples(port, "tidemark_sql_statements_total")


def samples(port: int, name: str) -> dict[str, float]:
    """Returns the values of a metric by the label `outcome`."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as answer:
        return values_of(answer.read().decode(), name, "outcome")
