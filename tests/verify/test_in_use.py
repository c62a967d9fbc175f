"""A warehouse in use, or after a crash, gives no false alarm: what is not published yet is a note."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.verify.busy_site import busy
from tests.verify.conftest import play
from tests.verify.plant import OF_RESULTS, add, alter, ms, notes, sentences
from tests.verify.site import PAGE_VIEWS_ALONE, REPORTS, Event, Site
from tidemark.pipeline.verifier import invariants, warehouse_snapshot
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot, read

pytestmark = pytest.mark.slow


@pytest.mark.core
def test_every_kind_of_windows_is_sound(tmp_path: Path) -> None:
    site = busy(tmp_path)
    notes(tmp_path)
    site.compact()
    notes(tmp_path)
    site.batch(Event(100), Event(73, "cid", "/a")).compact()
    assert "not checked: " not in notes(tmp_path)


def test_a_start_is_sound_before_and_after_it_published(tmp_path: Path) -> None:
    site = busy(tmp_path).open()
    notes(tmp_path)
    site.batch(Event(120), Event(74, "dan"))
    notes(tmp_path)


def test_a_table_that_a_start_is_making_is_not_lost(tmp_path: Path) -> None:
    site = play(Site(tmp_path, PAGE_VIEWS_ALONE).open())
    added = replace(PAGE_VIEWS_ALONE.reports[0], name="added")
    site.policy = replace(PAGE_VIEWS_ALONE, reports=(*PAGE_VIEWS_ALONE.reports, added))
    site.open()
    shutil.rmtree(tmp_path / "added")
    notes(tmp_path)
    shutil.rmtree(tmp_path / "page_views")
    assert "page_views" in read(str(tmp_path)).unreadable


@pytest.mark.core
def test_what_was_corrected_is_sound(tmp_path: Path) -> None:
    site = busy(tmp_path)
    site.batch(Event(2), Event(2.5, "eve", "/a"), Event(30, "ann")).batch(Event(200))
    site.correct()
    notes(tmp_path)
    site.compact()
    notes(tmp_path)
    alter(
        tmp_path,
        "page_views",
        lambda rows: [row | {"page_views": row["page_views"] - (row["user_id"] == "eve")} for row in rows],
    )
    assert "of user_id 'eve' shows 0 page_views" in sentences(tmp_path, OF_RESULTS)


@pytest.mark.parametrize("commits", [3, 10_000])
def test_files_that_an_erasure_removes_meanwhile_are_no_violation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    """Unless they stay missing. They are read more often than tables that change."""
    play(Site(tmp_path, PAGE_VIEWS_ALONE).open())
    before, reads = warehouse_snapshot.read, iter(range(commits))

    def next_to_an_erasure(warehouse: str) -> WarehouseSnapshot:
        found = before(warehouse)
        if next(reads, None) is not None:
            files = DeltaTable(str(tmp_path / "page_views")).file_uris()
            alter(tmp_path, "page_views", lambda rows: rows)
            for file in files:
                Path(file).unlink()
        return found

    monkeypatch.setattr(invariants, "_MOST_READS_OF_FILES", 4)
    monkeypatch.setattr(invariants, "read", next_to_an_erasure)
    assert invariants.verify(str(tmp_path)).is_sound == (commits == 3)


def test_uncommitted_rows_are_a_note(tmp_path: Path) -> None:
    busy(tmp_path).batch(Event(73), Event(1, "eve"), commit=False)
    reported = notes(tmp_path)
    assert "panes: uncommitted: 10 rows of batches that the ledger does not have" in reported
    assert "dead_letters: uncommitted: 1 row of batches that the ledger does not have" in reported


@pytest.mark.core
def test_unpublished_windows_are_a_note(tmp_path: Path) -> None:
    busy(tmp_path).batch(Event(73), Event(120, "eve"), Event(68), publish=False)
    reported = notes(tmp_path)
    assert "page_views: not published yet: 2 windows that fired or changed" in reported
    assert "sessions: not published yet: 3 parts of sessions" in reported
    assert "pairs: not published yet: 1 full window" in reported
    assert "user_totals: not published yet: events of 4 users" in reported


def test_a_publication_that_comes_while_it_is_read_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger is read, then a service commits and publishes a batch, and then the other tables are read."""
    site = play(Site(tmp_path, PAGE_VIEWS_ALONE).open())
    opened, late = warehouse_snapshot._open, iter([lambda: site.batch(Event(60), Event(33))])

    def open_late(*arguments: object) -> object:
        open_tables: Callable[..., object] = opened
        result = open_tables(*arguments)
        next(late, lambda: None)()
        return result

    monkeypatch.setattr(warehouse_snapshot, "_open", open_late)
    assert notes(tmp_path) == ""


def test_a_report_that_is_no_longer_configured_is_a_note(tmp_path: Path) -> None:
    site = play(Site(tmp_path, replace(PAGE_VIEWS_ALONE, reports=REPORTS[:2])).open())
    site.policy = PAGE_VIEWS_ALONE
    site.open()
    assert "pages is no longer configured: its open windows are gone" in notes(tmp_path)


def test_a_report_that_is_new_has_what_came_since(tmp_path: Path) -> None:
    site = play(Site(tmp_path, PAGE_VIEWS_ALONE).open())
    site.policy = replace(PAGE_VIEWS_ALONE, reports=(REPORTS[0], REPORTS[3]))
    site.open().batch(Event(50), Event(44, "bob"))
    notes(tmp_path)
    alter(tmp_path, "panes", add({"report": "sessions"}))
    assert "sessions: found 3 events" in sentences(tmp_path, OF_RESULTS)


def test_closed_windows_may_have_lost_their_panes(tmp_path: Path) -> None:
    play(Site(tmp_path, PAGE_VIEWS_ALONE).open())
    alter(tmp_path, "panes", lambda rows: [row for row in rows if row["pane_start"] >= ms(20)])
    assert notes(tmp_path) == ""


@pytest.mark.core
def test_a_correction_without_a_dead_letter_and_a_correction_that_is_added_twice(tmp_path: Path) -> None:
    site = play(Site(tmp_path, PAGE_VIEWS_ALONE).open())
    site.correct()
    alter(tmp_path, "corrections", lambda rows: [*rows, *rows, rows[0] | {"offset": 3}])
    reported = sentences(tmp_path, OF_RESULTS)
    assert "corrections: offset 9 of partition 0 of t was added 2 times to one window of page_views" in reported
    assert "corrections: offset 3 of partition 0 of t was added to page_views, but there are 0 dead letters" in reported


def test_nothing_is_written(tmp_path: Path) -> None:
    play(Site(tmp_path / "one", PAGE_VIEWS_ALONE).open())
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    notes(tmp_path / "one")
    for name in ("ledger", "panes", "page_views", "dead_letters"):
        versions = {DeltaTable(str(tmp_path / copy / name)).version() for copy in ("one", "other")}
        assert len(versions) == 1
    assert not (tmp_path / "one" / "corrections").exists()
