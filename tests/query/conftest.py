"""A SQL server, which the tests of its clients share."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.query.sql_clients import address, serving
from tests.support.processes import Process
from tests.verify.conftest import play
from tests.verify.site import PAGE_VIEWS_ALONE, Site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return play(Site(tmp_path_factory.mktemp("warehouse"), PAGE_VIEWS_ALONE).open())


@pytest.fixture(scope="session")
def server(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Process]]:
    with serving(site, tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def client(server: tuple[int, Process]) -> Iterator[psycopg.Connection]:
    with psycopg.connect(address(server[0]), autocommit=True) as connection:
        yield connection
