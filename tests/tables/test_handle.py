"""A handle commits at exactly the version after the version that it loaded; late or unanswered commits count once."""

import random
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Transaction, write_deltalake
from hypothesis import settings

from tests.support.seeds import SEED
from tidemark.pipeline.errors import Replaced
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.tables import handle as handle_module
from tidemark.pipeline.tables.files import files_of, read, write
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.merging import merge_small_files
from tidemark.pipeline.tables.transactions import FENCED_APP, FENCED_BY_0_1_0_APP

ROWS = pa.table({"user": ["ann", "bob"], "number": pa.array([1, 2], pa.int64())})
MANY_BYTES = 10**6


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with four files of two rows."""
    table = tmp_path_factory.mktemp("template") / "table"
    for _ in range(4):
        write_deltalake(table, ROWS, mode="append")
    return table


@pytest.fixture
def uri(template: Path, tmp_path: Path) -> str:
    """A copy of the template, which is made in a third of the time of its four commits."""
    return str(shutil.copytree(template, tmp_path / "table"))


def count(uri: str) -> int:
    return len(DeltaTable(uri).to_pyarrow_table())


def merge(handle: Handle) -> bool:
    gone = files_of(handle.table, {})
    return handle.exchange(gone, write(handle.table, read(handle.table, gone), {}, data_change=False), by=None)


COMMITS: dict[str, Callable[[Handle], bool]] = {
    "append": lambda handle: handle.swap(ROWS, by=None),
    "append nothing": lambda handle: handle.swap(ROWS.slice(0, 0), by=None),
    "replace": lambda handle: handle.swap(ROWS.slice(0, 1), "number = 1", by=None),
    "replace nothing": lambda handle: handle.swap(ROWS.slice(0, 0), "number = 99", by=None),
    "remove": lambda handle: handle.remove("number = 2", by=None),
    "remove nothing": lambda handle: handle.remove("number = 99", by=None),
    "vacuum": lambda handle: handle.vacuum(0),
    "describe": lambda handle: handle.attempt(
        lambda **how: handle.table.alter.set_table_description("text", **how), by=None
    ),
}


OTHERS = ("append", "append nothing", "replace", "remove", "describe")
FAST_PAIRS = {*zip(OTHERS * 2, COMMITS, strict=False)}
"""Pairs that have each commit, and each other commit."""


@pytest.mark.parametrize(
    ("other", "name"),
    [pytest.param(*pair, marks=() if pair in FAST_PAIRS else pytest.mark.slow) for pair in product(OTHERS, COMMITS)],
)
def test_no_commit_lands_after_another_one_that_its_handle_has_not_seen(other: str, name: str, uri: str) -> None:
    commit, outdated, fresh = COMMITS[name], Handle(uri), Handle(uri)
    assert COMMITS[other](fresh)
    before = DeltaTable(uri).version(), count(uri)
    assert not commit(outdated)
    assert (DeltaTable(uri).version(), count(uri)) == before
    assert commit(outdated), "from the version it has moved to it may"


def test_files_are_exchanged_after_commits_that_leave_them_alone(uri: str) -> None:
    outdated = Handle(uri)
    assert Handle(uri).swap(ROWS, by=None)
    assert merge(outdated)
    assert count(uri) == 10
    assert len(DeltaTable(uri).file_uris()) == 2


@pytest.mark.parametrize("other", ["replace", "remove"])
def test_files_that_another_commit_has_rewritten_are_not_exchanged(other: str, uri: str) -> None:
    outdated = Handle(uri)
    assert COMMITS[other](Handle(uri))
    before = count(uri)
    assert not merge(outdated)
    assert count(uri) == before
    assert not [*Path(uri, "merged").rglob("*.parquet")], "what no version will ever name is deleted"


def test_two_merges_of_the_same_files_keep_every_row_once(uri: str) -> None:
    one, other = Handle(uri), Handle(uri)
    assert merge_small_files(one, MANY_BYTES, 4, by=None)
    assert merge_small_files(other, MANY_BYTES, 4, by=None)
    assert count(uri) == 8


@pytest.mark.parametrize("app", [FENCED_BY_0_1_0_APP, FENCED_APP])
def test_a_handle_that_is_opened_after_the_fence_of_a_newer_epoch_commits_nothing(app: str, uri: str) -> None:
    Handle(uri).fence(EPOCH)
    assert Handle(uri).swap(ROWS.slice(0, 0), by=3 * EPOCH, transactions=[Transaction(app, 3 * EPOCH)])
    version = DeltaTable(uri).version()
    late = Handle(uri)
    for act in (
        lambda: late.swap(ROWS, by=2 * EPOCH + 1),
        lambda: late.fence(2 * EPOCH),
        lambda: late.remove("number = 1", by=2 * EPOCH),
        lambda: late.exchange(files_of(late.table, {}), [], by=2 * EPOCH),
    ):
        with pytest.raises(Replaced, match="opened epoch 3 on this warehouse; this service was epoch 2"):
            act()
    assert (DeltaTable(uri).version(), DeltaTable(uri).transaction_version(app)) == (version, 3 * EPOCH)


def test_a_fence_that_comes_while_a_handle_is_open_refuses_its_next_commit(uri: str) -> None:
    old = Handle(uri)
    assert old.swap(ROWS, by=EPOCH + 1)
    Handle(uri).fence(2 * EPOCH)
    assert not old.swap(ROWS, by=EPOCH + 2)
    with pytest.raises(Replaced):
        old.swap(ROWS, by=EPOCH + 2)


def test_an_amendment_that_was_computed_before_a_fence_is_computed_again(uri: str) -> None:
    def amend(handle: Handle, number: int) -> bool:
        done = [handle.amending()]
        return handle.swap(ROWS.slice(0, 0), f"number = {number}", by=None, transactions=done, retries=5)

    outdated = Handle(uri)
    assert Handle(uri).swap(ROWS.slice(1, 1), by=None)
    assert amend(outdated, 1), "an append of other rows does not matter to it"
    outdated = Handle(uri)
    Handle(uri).fence(2 * EPOCH)
    assert not amend(outdated, 2)
    assert amend(outdated, 2)


def failing(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[..., object]) -> None:
    """Has the next write fail, after something else was done with its arguments."""
    real: Callable[..., None] = write_deltalake

    def write(*args: Any, **given: Any) -> None:
        monkeypatch.setattr(handle_module, "write_deltalake", real)
        meanwhile(*args, **given)
        raise OSError("timed out")

    monkeypatch.setattr(handle_module, "write_deltalake", write)


def landing_later(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """Has the next write be reported as failed; what is returned then has it land at its version."""
    late = list[Callable[[], None]]()

    def later(table: DeltaTable, rows: pa.Table, **how: Any) -> None:
        outdated = DeltaTable(table.table_uri, version=table.version())
        late.append(lambda: write_deltalake(outdated, rows, **how))

    failing(monkeypatch, later)
    return late


def test_a_lost_answer_does_not_move_the_handle_past_its_own_commit(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old = Handle(uri)

    def lands_and_is_fenced(table: DeltaTable, rows: pa.Table, **how: Any) -> None:
        write_deltalake(DeltaTable(table.table_uri, version=table.version()), rows, **how)
        Handle(uri).fence(2 * EPOCH)

    failing(monkeypatch, lands_and_is_fenced)
    assert old.swap(ROWS, by=EPOCH + 1), "it has landed"
    assert not old.swap(ROWS, by=EPOCH + 1), "the fence lies behind it"
    with pytest.raises(Replaced):
        old.swap(ROWS, by=EPOCH + 1)
    assert count(uri) == 10


def test_a_commit_that_was_reported_as_failed_and_lands_later_excludes_its_repetition(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle, late = Handle(uri), landing_later(monkeypatch)
    mark = [Transaction("mine", 7)]
    with pytest.raises(OSError, match="timed out"):
        handle.swap(ROWS, by=None, transactions=mark)
    late.pop()()
    assert handle.last("mine") == 0, "the handle has not seen it"
    assert not handle.swap(ROWS, by=None, transactions=mark)
    assert handle.last("mine") == 7, "now its writer knows"
    assert count(uri) == 10


@pytest.mark.slow
def test_a_handle_knows_the_transactions_of_its_version_whoever_set_them(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(SEED)
    handles, apps = [Handle(uri), Handle(uri)], ["mine", "theirs"]
    for number in range(1, min(40, 3 * settings().max_examples)):
        handle, mark = chance.choice(handles), [Transaction(chance.choice(apps), number)]
        match chance.choice(["swap", "retry", "refresh", "vacuum", "lost answer"]):
            case "swap":
                handle.swap(ROWS, by=None, transactions=mark)
            case "retry":
                handle.swap(ROWS, by=None, transactions=mark, retries=3)
            case "refresh":
                handle.refresh()
            case "vacuum":
                handle.vacuum()
            case "lost answer":
                failing(monkeypatch, write_deltalake)
                handle.swap(ROWS, by=None, transactions=mark)
        for each in handles:
            reader = DeltaTable(uri, version=each.table.version())
            assert {app: each.transaction(app) for app in apps} == {
                app: reader.transaction_version(app) for app in apps
            }


def test_a_repetition_that_is_first_keeps_out_what_was_reported_as_failed(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle, late = Handle(uri), landing_later(monkeypatch)
    with pytest.raises(OSError, match="timed out"):
        handle.swap(ROWS, by=None)
    assert handle.swap(ROWS, by=None)
    with pytest.raises(Exception, match="commit"):
        late.pop()()
    assert count(uri) == 10


def test_no_other_module_makes_commits_of_its_own() -> None:
    pipeline = Path(handle_module.__file__).parents[1]
    texts = {path.name: path.read_text() for path in pipeline.rglob("*.py")}
    assert {name for name, text in texts.items() if "CommitProperties(" in text} == {"handle.py", "probe.py"}
    assert not {name for name, text in texts.items() if ".optimize." in text}
