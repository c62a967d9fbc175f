"""Handles of the tables move together, and look at the store only if a log has changed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from tests.verify.site import PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.reading import table_handles
from tidemark.pipeline.reading.table_handles import TableHandles
from tidemark.pipeline.reading.table_reader import TableReader
from tidemark.pipeline.tables.schemas import CORRECTIONS, LEDGER, find_table


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the names of the tables that were opened; the logs count as settled at once."""
    names = list[str]()
    monkeypatch.setattr(table_handles, "find_table", _noting(names, find_table))
    monkeypatch.setattr(table_handles, "_TICK_NS", 0)
    return names


def _noting(names: list[str], find: Callable[..., object]) -> Callable[..., object]:
    def find_and_note(name: str, warehouse: str) -> object:
        names.append(name)
        return find(name, warehouse)

    return find_and_note


@pytest.mark.slow
def test_unchanged_logs_are_not_opened_again(tmp_path: Path, opened: list[str]) -> None:
    site = Site(tmp_path, PAGE_VIEWS_ALONE).open()
    handles = TableHandles(str(tmp_path))
    for name in (LEDGER.name, "page_views", CORRECTIONS.name):
        handles.find(name)
    handles.refresh()
    before, version = len(opened), handles.version
    handles.refresh()
    assert (len(opened), handles.version) == (before, version)
    site.batch(Event(1), Event(11))
    handles.refresh()
    assert handles.version != version
    assert "page_views" in handles.version


@pytest.mark.slow
def test_only_tables_with_a_changed_log_are_looked_at(tmp_path: Path, opened: list[str]) -> None:
    site = Site(tmp_path, PAGE_VIEWS_ALONE).open().batch(Event(1), Event(11))
    handles = TableHandles(str(tmp_path))
    for name in (LEDGER.name, "page_views", "missing"):
        handles.find(name)
    handles.refresh()
    version = handles.version
    opened.clear()
    written = DeltaTable(tmp_path / "page_views")
    write_deltalake(written, written.to_pyarrow_table(), mode="append")
    handles.refresh()
    assert opened == []
    assert handles.version == version.replace(_name(handles, "page_views", -1), _name(handles, "page_views"))
    site.batch(Event(12))
    handles.refresh()
    assert opened == [LEDGER.name]


def test_a_missing_table_is_found_once_it_exists(tmp_path: Path, opened: list[str]) -> None:
    handles = TableHandles(str(tmp_path))
    assert handles.find(LEDGER.name) is None
    handles.refresh()
    before = len(opened)
    handles.refresh()
    assert len(opened) == before
    Site(tmp_path, PAGE_VIEWS_ALONE).open()
    handles.refresh()
    assert handles.find(LEDGER.name) is not None


@pytest.mark.slow
def test_a_recreated_warehouse_gets_new_handles(tmp_path: Path) -> None:
    folder = tmp_path / "warehouse"
    Site(folder, PAGE_VIEWS_ALONE).open().batch(Event(1), Event(11))
    handles = TableHandles(str(folder))
    ids = {name: _id(handles, name) for name in (LEDGER.name, "page_views")}
    shutil.rmtree(folder)
    site = Site(folder, PAGE_VIEWS_ALONE).open()
    for minute in range(1, 40, 11):
        site.batch(Event(minute))
    handles.refresh()
    assert all(_id(handles, name) != table_id for name, table_id in ids.items())


def test_the_newest_commit_counts_even_if_a_clock_was_ahead(tmp_path: Path) -> None:
    site = Site(tmp_path, PAGE_VIEWS_ALONE, committed_at=5_000).open().batch(Event(1))
    site.committed_at = 4_000
    site.batch(Event(2))
    assert TableReader(str(tmp_path)).read_newer(lambda *_: None, None).committed_at == 4_000


def _name(handles: TableHandles, name: str, change: int = 0) -> str:
    """Returns the part of the version that names a table; of another version with `change`."""
    table = handles.find(name)
    assert table is not None
    return f"{name} {_id(handles, name)} {table.version() + change}"


def _id(handles: TableHandles, name: str) -> object:
    table = handles.find(name)
    assert table is not None
    return table.metadata().id
