"""A warehouse that version 0.1.0 left unfinished is continued: nothing is lost, and nothing is published twice."""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from dev.unpack import unpack
from tests.simulation import verbs, version_0_1_0
from tests.simulation.ending import after_a_life
from tests.simulation.judge import rows_of
from tests.simulation.world import Process
from tests.stored.unfinished import cast, service
from tests.support.seeds import drawn
from tidemark.pipeline.amend import late_corrections
from tidemark.pipeline.errors import Replaced
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.tables import housekeeping
from tidemark.pipeline.tables.schemas import PANES
from tidemark.pipeline.tables.transactions import FENCED_APP, FENCED_BY_0_1_0_APP, PUBLISHED_APP

pytestmark = pytest.mark.slow
RESULTS = ("page_views", "visits", "pairs", "user_totals")
LAST_BATCH = 2 * EPOCH + 3


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    with tarfile.open(Path(__file__).with_name("format-1-unfinished.tar.xz")) as tar:
        unpack(tar, tmp_path)
    return tmp_path / "format-1-unfinished"


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("spark_session", "schemas_of", "policy_of", "late_events", "_filtered"):
        monkeypatch.setattr(late_corrections, name, vars(late_corrections)[name])  # so that it is restored
    verbs.without_spark()


def old_service(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Process:
    """Starts a service of version 0.1.0."""
    with monkeypatch.context() as patched:
        patched.setattr(housekeeping, "take_over", version_0_1_0.take_over)
        return service(str(warehouse)).open()


def published_batches(warehouse: Path, name: str) -> Iterator[int]:
    """Yields the batch of each publication, in the order of the table's log."""
    for entry in sorted((warehouse / name / "_delta_log").glob("[0-9]*.json")):
        for action in map(json.loads, entry.read_text().splitlines()):
            if action.get("txn", {}).get("appId") == PUBLISHED_APP:
                yield action["txn"]["version"]


@pytest.mark.usefixtures("without_spark")
def test_it_is_read_to_the_end_corrected_erased_and_verified(warehouse: Path) -> None:
    life = cast(str(warehouse))
    assert [*after_a_life(life)] == []
    assert any(row["user_id"] == "cid" for row in rows_of(str(warehouse), "page_views"))
    for name in RESULTS:
        batches = [*published_batches(warehouse, name)]
        assert batches == sorted({*batches}), f"{name}: a batch was published twice"
        assert batches[-1] > LAST_BATCH


def test_a_batch_that_version_0_1_0_published_is_not_published_again(warehouse: Path) -> None:
    """The last batch fired a window of page_views; pairs had published it, page_views had not."""
    before = {name: [*published_batches(warehouse, name)] for name in RESULTS}
    process = service(str(warehouse)).open()
    offered = process.progress.batch_id
    assert max(before["page_views"]) < LAST_BATCH
    assert [*published_batches(warehouse, "page_views")] == [*before["page_views"], offered]
    rows = rows_of(str(warehouse), "page_views")
    assert len({(row["user_id"], row["window_start"]) for row in rows}) == len(rows) > 5


@pytest.mark.parametrize(
    "is_old_first", drawn([True, False], 1), ids=["the newer is of this version", "the newer is of 0.1.0"]
)
def test_a_service_that_still_runs_commits_nothing_after_a_start_of_the_other_version(
    warehouse: Path, is_old_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_old_first:
        first, second = old_service(warehouse, monkeypatch), service(str(warehouse)).open()
    else:
        first, second = service(str(warehouse)).open(), old_service(warehouse, monkeypatch)
    tables = [PANES.name, "dead_letters", "event_ids", *RESULTS, "ledger"]
    before = {name: DeltaTable(warehouse / name).version() for name in tables}
    with pytest.raises(Replaced, match="opened epoch 4 on this warehouse; this service was epoch 3"):
        first.take()
    assert {name: DeltaTable(warehouse / name).version() for name in tables} == before
    while not second.is_done:
        second.take()
    assert verbs.violations(str(warehouse)) == []


def test_version_0_1_0_can_continue_it_again(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = service(str(warehouse)).open()
    process.take(1)
    for name in (PANES.name, "dead_letters", "event_ids", *RESULTS):
        assert DeltaTable(warehouse / name).transaction_version(FENCED_APP) == 3 * EPOCH
    assert DeltaTable(warehouse / PANES.name).transaction_version(FENCED_BY_0_1_0_APP) == 0
    assert version_0_1_0.refused_tables(warehouse, process.progress.batch_id) == []
    old_service(warehouse, monkeypatch).take(1)
    assert verbs.violations(str(warehouse)) == []
    last = service(str(warehouse)).open()
    while not last.is_done:
        last.take()
    assert verbs.violations(str(warehouse)) == []
