"""A SQL server, which the tests of its clients share."""

import signal
from collections.abc import Iterator

import psycopg
import pytest

from demo.children import free_port
from tests.query.sql_clients import MARK, PASSWORD, address
from tests.support.processes import Process, tidemark
from tests.support.waiting import PATIENCE_S, wait_for
from tests.verify.conftest import play
from tests.verify.site import PAGE_VIEWS_ALONE, Site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return play(Site(tmp_path_factory.mktemp("warehouse"), PAGE_VIEWS_ALONE).open())


@pytest.fixture(scope="session")
def server(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Process]]:
    log, port = tmp_path_factory.mktemp("server") / "log", free_port()
    variables = {"TIDEMARK_SQL_PASSWORD": PASSWORD, "AWS_SECRET_ACCESS_KEY": MARK}
    arguments = (f"--warehouse={site.warehouse}", f"--port={port}", "--memory=500m")
    with tidemark(log, "sql-server", *arguments, driver=variables) as process:
        wait_for(lambda: "sql_server_listening" in process.said or not process.alive, PATIENCE_S, "its opening")
        assert process.alive, process.said
        yield port, process
        assert process.alive, process.said
        process.send(signal.SIGTERM)
        assert process.wait() == 0, process.said


@pytest.fixture
def client(server: tuple[int, Process]) -> Iterator[psycopg.Connection]:
    with psycopg.connect(address(server[0]), autocommit=True) as connection:
        yield connection
