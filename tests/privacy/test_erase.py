"""A person leaves every table of a small warehouse, made without Spark, and the laws hold before and after."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pipeline.cli import main
from pipeline.commands.erase import erase as command
from pipeline.commands.erase.erase import erase_person, persons_rows
from pipeline.commands.verify.laws import verify
from pipeline.errors import SetUpError, TransientError
from pipeline.settings.model import Settings
from tests.support.conservation import assert_conserved
from tests.support.every_file import files_with
from tests.support.warehouse import rows
from tests.verify.site import Event, Site, busy

NOW = timedelta(0)
WHOM = "bob-who-leaves"


def settings_of(warehouse: Path) -> Settings:
    return Settings(warehouse=str(warehouse))


def played(warehouse: Path) -> Site:
    """Bob is in windows that are closed, fired and open, in sessions, totals, dead letters and corrections."""
    site = Site(warehouse).open()
    site.batch(Event(1), Event(2, WHOM, "/a"), Event(3, click=True), Event(4, WHOM, page=None))
    site.batch(Event(11), Event(12, WHOM), Event(13, "cid", "/a"))
    site.batch(Event(8, WHOM), Event(9, "cid", "/a"))
    site.batch(Event(21, "cid"), Event(22, WHOM), Event(23, WHOM, click=True))
    site.batch(Event(5, "dan", "/a"), Event(5.5, WHOM, "/a"))
    site.batch(Event(70, "cid"), Event(23, WHOM))
    site.batch(Event(10, "dan"), Event(69, WHOM, "/a", click=True))
    site.correct()
    return site.batch(Event(71), Event(72, WHOM), publish=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse with bob, sound, and with a record that was cut off in his name."""
    warehouse = tmp_path_factory.mktemp("with-bob")
    played(warehouse)
    assert_conserved(warehouse)
    assert files_with(warehouse, WHOM)
    return warehouse


@pytest.fixture
def left(made: Path, tmp_path: Path) -> Path:
    """The same, to be erased from."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_no_file_has_the_person_and_the_laws_hold(left: Path) -> None:
    before = {name: len(rows(left, name)) for name in ("dead_letters", "page_views", "pages", "landings", "readers")}
    foretold = persons_rows(settings_of(left), WHOM)
    assert {"panes", "corrections", "dead_letters", "page_views", "sessions", "pairs", "user_totals"} == set(foretold)
    assert files_with(left, WHOM), "telling changes nothing"
    assert erase_person(settings_of(left), WHOM, NOW) == foretold
    assert files_with(left, WHOM) == set()
    assert_conserved(left)
    after = {name: len(rows(left, name)) for name in before}
    assert after == before | {"page_views": before["page_views"] - foretold["page_views"]}, "others count him still"


def test_what_is_written_down_are_numbers_of_events_without_the_person(left: Path) -> None:
    erase_person(settings_of(left), WHOM, NOW)
    told = {row["table"]: row["events"] for row in rows(left, "erasures")}
    # Ten that were counted; of these one came too late for windows and sessions.
    assert (told["page_views"], told["sessions"], told["pairs"], told["user_totals"]) == (9, 9, 10, 10)
    assert {row["erasure"] for row in rows(left, "erasures")} == {1}


def test_doing_it_again_changes_nothing_and_says_so(left: Path) -> None:
    erase_person(settings_of(left), WHOM, NOW)
    audit = rows(left, "erasures")
    assert erase_person(settings_of(left), WHOM, NOW) == {}
    assert erase_person(settings_of(left), "nobody-who-was-ever-here", NOW) == {}
    assert rows(left, "erasures") == audit


def test_two_leave_one_after_the_other(left: Path) -> None:
    for user in (WHOM, "cid"):
        erase_person(settings_of(left), user, NOW)
        assert_conserved(left)
    assert {row["user_id"] for row in rows(left, "page_views")} == {"ann", "dan"}


def test_what_comes_later_is_counted_anew_and_may_be_erased_again(made: Path, tmp_path: Path) -> None:
    site = played(tmp_path)
    erase_person(settings_of(tmp_path), WHOM, NOW)
    site.batch(Event(73, WHOM), Event(90, "dan"))
    site.batch(Event(110, "dan"))
    assert_conserved(tmp_path)
    assert persons_rows(settings_of(tmp_path), WHOM)["page_views"] == 1
    erase_person(settings_of(tmp_path), WHOM, NOW)
    assert files_with(tmp_path, WHOM) == set()
    assert_conserved(tmp_path)
