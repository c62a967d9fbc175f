"""A user is erased from every table of a small warehouse, without Spark; invariants hold before and after."""

import os
import shutil
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.chaos.library import NEEDS_FAULTS
from tests.chaos.rules import Action, Faults, Rule
from tests.support.conservation import assert_conserved, violations
from tests.support.every_file import files_with
from tests.support.processes import tidemark
from tests.support.waiting import PATIENCE_S, wait_for
from tests.support.warehouse import rows
from tests.verify.site import MINUTE, NOON, POLICY, Event, Site
from tidemark.pipeline.amend.erase.erasure import erase_person, persons_rows
from tidemark.pipeline.amend.erase.future_events import drop_later
from tidemark.pipeline.amend.erase.person import Person
from tidemark.pipeline.amend.erase.person_tables import PersonalTables
from tidemark.pipeline.cli import main
from tidemark.pipeline.errors import SetUpError, TransientError
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.verifier.invariants import verify

pytestmark = pytest.mark.slow
NOW = timedelta(0)
WHOM = "bob-who-leaves"
CID = "cid-who-follows"
Make = pytest.TempPathFactory


def settings_of(warehouse: Path) -> Settings:
    return Settings(warehouse=str(warehouse))


def played(warehouse: Path) -> Site:
    """Bob is in windows that are closed, fired and open, in sessions, totals, dead letters and corrections."""
    site = Site(warehouse).open()
    site.batch(Event(1), Event(2, WHOM, "/a"), Event(3, click=True), Event(4, WHOM, page=None))
    site.batch(Event(11), Event(12, WHOM), Event(13, CID, "/a"))
    site.batch(Event(8, WHOM), Event(9, CID, "/a"))
    site.batch(Event(21, CID), Event(22, WHOM), Event(23, WHOM, click=True))
    site.batch(Event(5, "dan", "/a"), Event(5.5, WHOM, "/a"))
    site.batch(Event(70, CID), Event(23, WHOM))
    site.batch(Event(10, "dan"), Event(69, WHOM, "/a", click=True))
    site.correct()
    return site.batch(Event(71), Event(72, WHOM), publish=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound warehouse with bob."""
    warehouse = tmp_path_factory.mktemp("with-bob")
    played(warehouse)
    assert_conserved(warehouse)
    assert files_with(warehouse, WHOM)
    return warehouse


@pytest.fixture
def left(made: Path, tmp_path: Path) -> Path:
    """A copy of the warehouse with bob, from which he is erased."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.core
def test_no_file_has_the_user_and_the_invariants_hold(left: Path) -> None:
    before = {name: len(rows(left, name)) for name in ("dead_letters", "page_views", "pages", "landings", "readers")}
    predicted = persons_rows(settings_of(left), WHOM)
    assert {"panes", "corrections", "dead_letters", "page_views", "sessions", "pairs", "user_totals"} == set(predicted)
    assert files_with(left, WHOM), "counting changes nothing"
    assert erase_person(settings_of(left), WHOM, NOW) == predicted
    assert files_with(left, WHOM) == set()
    assert_conserved(left)
    after = {name: len(rows(left, name)) for name in before}
    assert after == before | {"page_views": before["page_views"] - predicted["page_views"]}, "others count him still"
    erased = {row["table"]: row["events"] for row in rows(left, "erasures")}
    # Ten that were counted; of these one came too late for windows and sessions.
    assert (erased["page_views"], erased["sessions"], erased["pairs"], erased["user_totals"]) == (9, 9, 10, 10)
    for user in (WHOM, "an-unknown-user"):
        assert erase_person(settings_of(left), user, NOW) == {}
    assert {row["erasure"] for row in rows(left, "erasures")} == {1}, "a second run records nothing"


@pytest.mark.core
def test_other_users_are_erased_too_and_later_events_are_counted_again(tmp_path: Path) -> None:
    site = played(tmp_path)
    for user in (WHOM, CID):
        erase_person(settings_of(tmp_path), user, NOW)
    # A publication continues, although files that it started from were deleted.
    site.publish_again().batch(Event(73, WHOM), Event(90, "dan")).batch(Event(110, "dan"))
    assert_conserved(tmp_path)
    assert persons_rows(settings_of(tmp_path), WHOM)["page_views"] == 1
    erase_person(settings_of(tmp_path), WHOM, NOW)
    assert {row["user_id"] for row in rows(tmp_path, "page_views")} == {"ann", "dan"}
    assert files_with(tmp_path, WHOM, CID) == set()
    assert_conserved(tmp_path)


def test_a_user_with_a_window_that_ends_in_the_year_10000_is_shown_and_erased(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last = Event((rules.LATEST_EVENT_MS - NOON) / MINUTE, WHOM)
    pairs = replace(POLICY, reports=tuple(report for report in POLICY.reports if report.name == "pairs"))
    Site(tmp_path, pairs).open().batch(Event(1), Event(2)).batch(last, last)
    assert main(["status", "--warehouse", str(tmp_path), "--report", "pairs"]) == 0
    assert "[9999-12-31 23:59:59, 23:59:59)" in capsys.readouterr().out
    assert erase_person(settings_of(tmp_path), WHOM, NOW) == {"pairs": 1, "panes": 4, "user_totals": 1}
    assert_conserved(tmp_path)


@pytest.mark.core
def test_a_file_of_a_refused_commit_is_removed_once_it_cannot_be_in_use(left: Path) -> None:
    refused = left / "page_views" / "part-of-a-refused-commit.parquet"
    pq.write_table(pa.table({"user_id": [WHOM]}), refused)
    with pytest.raises(TransientError, match="1 file of refused commits"):
        erase_person(settings_of(left), WHOM)
    assert files_with(left, WHOM) == {"page_views/part-of-a-refused-commit.parquet"}
    os.utime(refused, (0, 0))
    assert erase_person(settings_of(left), WHOM) == {}
    assert files_with(left, WHOM) == set()


@pytest.mark.core
def test_a_rejected_record_that_could_not_be_read_is_found_by_its_bytes(left: Path) -> None:
    letters = DeltaTable(left / "dead_letters")
    found = letters.to_pyarrow_table()
    unreadable = [
        {"user_id": None, "key": None, "value": f'{{"user": "{WHOM}"}}'.encode(), "offset": 901},
        {"user_id": None, "key": WHOM.encode(), "value": b"x", "offset": 902},
        {"user_id": "ann", "key": b"ann", "value": b"y", "offset": 903},
    ]
    added = [found.to_pylist()[0] | row for row in unreadable]
    write_deltalake(letters, pa.Table.from_pylist(added, schema=found.schema), mode="append")
    erase_person(settings_of(left), WHOM, NOW)
    after = {row["offset"]: row for row in rows(left, "dead_letters")}
    users = {offset: (row["user_id"], row["key"], row["value"]) for offset, row in after.items()}
    assert (users[901], users[902], users[903]) == ((None,) * 3, (None,) * 3, ("ann", b"ann", b"y"))
    assert {row["reason"] for row in after.values()} == {row["reason"] for row in found.to_pylist()}
    assert files_with(left, WHOM) == set()


@pytest.mark.core
@NEEDS_FAULTS
def test_a_run_that_is_killed_at_any_commit_is_finished_by_the_next(left: Path, tmp_path_factory: Make) -> None:
    folder = tmp_path_factory.mktemp("killed")
    # Killed again and again: each run comes as far as to this commit of the table, and not over it.
    commits = [
        *(("dead_letters", 1), ("panes", 1), ("panes", 2), ("corrections", 1), ("page_views", 1)),
        *(("user_totals", 1), ("panes", 1), ("erasures", 2), ("page_views", 1)),
    ]
    for number, (table, nth) in enumerate(commits):
        faults = Faults(folder / str(number), left)
        faults.set([Rule("here", "link", f"{table}/_delta_log/*.json", Action.HOLD, nth=nth)])
        command = ("erase", "--warehouse", str(left), "--user", WHOM, "--yes")
        with tidemark(folder / f"said-{number}", *command, driver=faults.environment) as process:
            wait_for(partial(faults.struck, "here"), PATIENCE_S, f"commit {nth} of {table}")
            process.kill()
        if table == "corrections":
            notes = [note for finding in verify(str(left)).findings for note in finding.notes]
            assert any("a person is being erased. If that was interrupted" in note for note in notes)
            with pytest.raises(SetUpError, match="is running or was interrupted: wait for it, or run it"):
                erase_person(settings_of(left), "ann", NOW)
    erase_person(settings_of(left), WHOM, NOW)
    assert files_with(left, WHOM) == set()
    assert_conserved(left)
    erased = {row["table"]: row["events"] for row in rows(left, "erasures")}
    assert (erased["page_views"], erased["sessions"], erased["pairs"], erased["user_totals"]) == (9, 9, 10, 10)


@pytest.mark.core
def test_the_verifier_reports_erasures_that_are_not_recorded(left: Path) -> None:
    erase_person(settings_of(left), WHOM, NOW)
    audit = DeltaTable(left / "erasures")
    audit.update({"events": "events + 1"}, predicate="\"table\" = 'page_views'")
    assert violations(left) == ["page_views: erasures has 10 events of persons, but the panes 9"]


def test_a_batch_in_progress_is_reported_once(left: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whom = Person(WHOM)
    newest = max(row["batch"] for row in rows(left, "ledger"))
    assert drop_later(PersonalTables.of(str(left)), whom, patience_s=0) == newest
    assert drop_later(PersonalTables.of(str(left)), whom) is None, "a second run has waited"
    assert_conserved(left)
    command = ["erase", "--warehouse", str(left), "--user", WHOM]
    assert main([*command, "--yes", "--keep-later"]) == 2
    assert "--keep-later erases nothing" in capsys.readouterr().err
    for sentence in ("are counted again", "are not dropped"):
        assert main([*command, "--keep-later"]) == 0
        assert sentence in capsys.readouterr().out


def test_the_command_only_counts_without_yes(left: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["erase", "--warehouse", str(left), "--user", WHOM]) == 0
    assert "say --yes to erase" in capsys.readouterr().out
    assert files_with(left, WHOM)
    assert main(["erase", "--warehouse", str(left / "no"), "--user", WHOM]) == 2


@pytest.mark.parametrize("words", [["--yes"], []])
def test_a_user_of_no_table_has_an_exit_code_of_its_own(
    left: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["erase", "--warehouse", str(left), "--user", "nobody", *words]) == 3
    said = capsys.readouterr()
    assert said.err == "tidemark: no table has a row of the user 'nobody': check the id, which must match exactly\n"
    assert "They are erased." not in said.out


def test_later_events_of_an_unknown_user_can_be_dropped(left: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["erase", "--warehouse", str(left), "--user", "nobody", "--yes", "--drop-later"]) == 0
    assert "No table has a row of the user.\nLater events of the user are dropped." in capsys.readouterr().out
