"""Collecting the fast tests takes seconds if modules are imported whose tests do not run."""

from pathlib import Path

import pytest

from tests.support import collection


def are_fast(config: pytest.Config) -> bool:
    """Returns whether only the fast tests run; others may import what they need."""
    return {"jvm", "broker", "slow"} <= collection.left_out(config)


def test_no_module_is_imported_for_fast_tests_without_any_of_them(pytestconfig: pytest.Config) -> None:
    in_vain = pytestconfig.stash[collection.IN_VAIN] if are_fast(pytestconfig) else set()
    assert in_vain == set(), "write `pytestmark = pytest.mark...` in one line of each"


def test_no_browser_and_no_foreign_database_client_is_imported_for_fast_tests(pytestconfig: pytest.Config) -> None:
    if are_fast(pytestconfig):
        heavy = {"axe_playwright_python", "docker", "playwright", "polars", "pyiceberg", "sqlalchemy", "testcontainers"}
        assert pytestconfig.stash[collection.PACKAGES] & heavy == set()


def test_files_that_read_by_spark_are_told_from_others() -> None:
    tests = Path(__file__).parents[1]
    found = {
        path.relative_to(tests).as_posix() for path in tests.glob("*/test_*.py") if collection.reads_by_spark(path)
    }
    assert found >= {"broker/test_live.py", "query/test_queries.py", "verify/test_on_spark.py"}
    assert not found & {"query/test_live_rows.py", "setup/test_fast_collection.py"}
