"""The table of erased users recognises them, contains no user id, and removes a user without a trace."""

from pathlib import Path

from deltalake import DeltaTable

from tests.support.every_file import files_with
from tests.support.warehouse import rows
from tidemark.pipeline.pseudonyms import ErasedUsers
from tidemark.pipeline.tables.erased_users import erased_users, forget, remember
from tidemark.pipeline.tables.handle import create_table
from tidemark.pipeline.tables.schemas import ERASED_USERS

ANN, BOB = "ann-of-clear-text", "bob-of-clear-text"


def known(warehouse: Path) -> ErasedUsers | None:
    return erased_users(DeltaTable(ERASED_USERS.uri(str(warehouse))))


def test_users_are_known_again_by_one_salt_and_no_file_names_them(tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    assert [remember(warehouse, user) for user in (ANN, BOB, ANN)] == [True, True, False]
    found = known(tmp_path)
    assert found is not None
    assert found.hashes == {found.hash_of(ANN), found.hash_of(BOB)}
    assert {row["salt"] for row in rows(warehouse, "erased_users")} == {found.salt.hex()}
    assert files_with(warehouse, ANN, BOB) == set()


def test_the_same_user_has_another_hash_in_another_warehouse(tmp_path: Path) -> None:
    for name in ("one", "other"):
        remember(str(tmp_path / name), ANN)
    one, other = (known(tmp_path / name) for name in ("one", "other"))
    assert one is not None
    assert other is not None
    assert not one.hashes & other.hashes


def test_a_forgotten_user_is_in_no_file_and_not_in_the_log(tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    assert not forget(warehouse, ANN), "there is no table"
    for user in (ANN, BOB):
        remember(warehouse, user)
    before = known(tmp_path)
    assert before is not None
    assert files_with(warehouse, before.hash_of(ANN)), "the files are looked into"
    assert [forget(warehouse, ANN), forget(warehouse, ANN)] == [True, False]
    assert known(tmp_path) == ErasedUsers(before.salt, frozenset({before.hash_of(BOB)}))
    assert files_with(warehouse, before.hash_of(ANN)) == set()
    assert forget(warehouse, BOB)
    assert known(tmp_path) is None
    assert files_with(warehouse, before.salt.hex()) == set()


def test_a_reader_whose_files_were_removed_goes_on_with_newer_ones(tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    create_table(ERASED_USERS, warehouse)
    for user in (ANN, BOB):
        remember(warehouse, user)
    handle = DeltaTable(ERASED_USERS.uri(warehouse))
    forget(warehouse, ANN)
    assert erased_users(handle) == known(tmp_path)
