"""The table of event ids retains ids that may repeat, while later batches append, and for one writer."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from deltalake import DeltaTable

from tests.support.warehouse import rows
from tidemark.pipeline.errors import Replaced
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.event_ids import Ids
from tidemark.pipeline.fold import outputs
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables import event_id_table
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.housekeeping import remove_uncommitted, take_over
from tidemark.pipeline.tables.schemas import EVENT_IDS

pytestmark = pytest.mark.slow


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """A warehouse whose first epoch deduplicates."""
    create_tables(str(tmp_path), replace(Settings().policy(), deduplicate=True))
    remove_uncommitted(str(tmp_path), 0, EPOCH)
    return str(tmp_path)


def append(appender: Appender, number: int, times: Sequence[int]) -> None:
    halves = np.array(times) * 7919 % 1009
    appender.append(outputs.event_ids(Ids(halves, -halves, np.array(times)), EPOCH + number), EPOCH + number)


def times(warehouse: str) -> list[int]:
    return sorted(row["event_time"] for row in rows(warehouse, "event_ids"))


def test_maintenance_removes_old_ids_and_merges_small_files_during_appends(warehouse: str) -> None:
    appender = Appender(EVENT_IDS, warehouse)
    for number in range(1, 110):
        append(appender, number, [number, number + 1_000])
    event_id_table.maintain(warehouse, 40, EPOCH + 109)
    assert len(DeltaTable(EVENT_IDS.uri(warehouse)).file_uris()) == 1
    # Its handle is of before that.
    append(appender, 110, [110, 1_110])
    assert times(warehouse) == [*range(40, 111), *range(1_001, 1_111)]
    remembered = event_id_table.remembered(warehouse)
    known = np.concatenate([run.time for run in remembered.runs])
    assert sorted(known.tolist()) == times(warehouse)


def test_a_start_removes_what_is_void_and_what_the_epoch_before_had_forgotten(warehouse: str) -> None:
    appender = Appender(EVENT_IDS, warehouse)
    append(appender, 1, [10, 20, 30])
    append(appender, 2, [25, 40])
    take_over(warehouse, (), 2 * EPOCH, None)
    remove_uncommitted(warehouse, EPOCH + 1, 2 * EPOCH)
    event_id_table.forget(warehouse, 20, 2 * EPOCH)
    assert times(warehouse) == [20, 30]
    with pytest.raises(Replaced):
        append(appender, 2, [25])
    with pytest.raises(Replaced):
        event_id_table.maintain(warehouse, 30, EPOCH + 2)
    assert times(warehouse) == [20, 30]


def test_a_warehouse_without_the_table_has_nothing_to_forget(tmp_path: Path) -> None:
    create_tables(str(tmp_path), Settings().policy())
    event_id_table.forget(str(tmp_path), 20, EPOCH)
    assert not (tmp_path / "event_ids").exists()
