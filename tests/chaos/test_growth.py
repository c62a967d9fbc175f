"""The stand-in for a hundred batches: many small files with the same rows, which upkeep merges again."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tests.chaos.growth import MANY_FILES, scatter
from tests.support.warehouse import table
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.handle import create_table
from tidemark.pipeline.tables.housekeeping import merge_small_files
from tidemark.pipeline.tables.schemas import DEAD_LETTERS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("letters", [MANY_FILES, 3 * MANY_FILES + 1])
def test_scattered_rows_stay_what_they_are_and_are_worth_a_merge(tmp_path: Path, letters: int) -> None:
    create_table(DEAD_LETTERS, str(tmp_path))
    rows = [{"reason": "malformed", "offset": offset, "value": b"{}", "batch": 1} for offset in range(letters)]
    Appender(DEAD_LETTERS, str(tmp_path)).append(pa.Table.from_pylist(rows, schema=DEAD_LETTERS.schema), 1)
    before = table_rows(tmp_path)
    scatter(tmp_path, "dead_letters")
    assert (files(tmp_path) >= MANY_FILES, table_rows(tmp_path)) == (True, before)
    merge_small_files(str(tmp_path), DEAD_LETTERS, 1)
    assert (files(tmp_path), table_rows(tmp_path)) == (1, before)


def files(warehouse: Path) -> int:
    return len(DeltaTable(warehouse / "dead_letters").file_uris())


def table_rows(warehouse: Path) -> pa.Table:
    return table(warehouse, "dead_letters").sort_by("offset")
