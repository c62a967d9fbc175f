"""Collecting the fast tests takes seconds if modules are imported whose tests do not run."""

import pytest

from tests.support import collection


def test_no_module_is_imported_whose_tests_are_all_left_out(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.stash[collection.IN_VAIN] == set(), "write `pytestmark = pytest.mark...` in one line of each"


def test_no_browser_and_no_foreign_database_client_is_imported_for_fast_tests(pytestconfig: pytest.Config) -> None:
    if {"jvm", "broker", "slow"} <= collection.left_out(pytestconfig):
        heavy = {"axe_playwright_python", "docker", "playwright", "polars", "pyiceberg", "sqlalchemy", "testcontainers"}
        assert pytestconfig.stash[collection.PACKAGES] & heavy == set()
