"""Blocks of docs/queries.md: DuckDB by Arrow, a table of the user's own, and whether windows are final."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from duckdb_extensions import import_extension

from tests.query.page import block_of
from tests.verify.conftest import play
from tests.verify.site import PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.reading.sql_views import views
from tidemark.pipeline.tables.engines import Engine

pytestmark = pytest.mark.slow
PANDAS, OWN, FINAL = "DuckDB and pandas", "Your own tables next to ours", "Wait until windows are final"
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MIDNIGHT = "2024-05-02 00:00:00Z"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Returns a warehouse in which windows up to 12:20 are final, with an allowed lateness of five minutes."""
    return play(Site(tmp_path_factory.mktemp("bi"), PAGE_VIEWS_ALONE).open())


@pytest.fixture
def shell(site: Site, tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yields DuckDB with the views of `tidemark sql`."""
    with duckdb.connect(config={"extension_directory": str(tmp_path)}) as connection:
        import_extension("delta", con=connection)
        connection.load_extension("delta")
        for view in views(str(site.warehouse), Engine.DUCKDB):
            connection.execute(view.statements(Engine.DUCKDB)[0])
        yield connection


def defined(site: Site) -> dict[str, Any]:
    """Returns the names after the blocks of Python, which need no extension of DuckDB."""
    names: dict[str, Any] = {"warehouse": str(site.warehouse)}
    exec(block_of(PANDAS) + block_of(FINAL), names)  # noqa: S102 - it is our own page
    return names


def test_duckdb_reads_by_arrow_without_its_extension(site: Site) -> None:
    assert defined(site)["answer"].fetchall() == [("ann", 4), ("bob", 3)]


def test_a_table_of_the_user_is_joined(
    shell: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plans.csv").write_text("user_id,plan\nann,free\nbob,paid\n")
    assert shell.execute(block_of(OWN, "sql")).fetchall() == [("free", 4), ("paid", 3)]


def test_a_window_is_final_once_it_is_published_and_no_event_can_change_it(site: Site, tmp_path: Path) -> None:
    is_final: Callable[[str, datetime], bool] = defined(site)["is_final"]
    ends = [NOON + timedelta(minutes=minutes) for minutes in (10, 20, 30, 40)]
    assert [is_final("page_views", end) for end in ends] == [True, True, False, False]
    fresh = Site(tmp_path, PAGE_VIEWS_ALONE).open()
    is_final = defined(fresh)["is_final"]
    assert not is_final("page_views", NOON)
    fresh.batch(Event(1)).batch(Event(32), publish=False)
    assert not is_final("page_views", ends[0])
    fresh.publish_again()
    assert is_final("page_views", ends[0])


@pytest.mark.parametrize(("end", "is_final"), [("12:20", True), ("12:40", False)])
def test_the_ledger_answers_by_the_watermark(shell: duckdb.DuckDBPyConnection, end: str, is_final: bool) -> None:
    statement = block_of(FINAL, "sql")
    assert MIDNIGHT in statement
    assert shell.execute(statement.replace(MIDNIGHT, f"2024-05-01 {end}:00Z")).fetchall() == [(is_final,)]
