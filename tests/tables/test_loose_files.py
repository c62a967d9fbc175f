"""Files of a table that no commit refers to: maintenance removes them once no writer can still commit them."""

import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from tests.verify.site import PAGE_VIEWS_ALONE
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.tables.housekeeping import remove_dead_files
from tidemark.pipeline.tables.large import FOLDER
from tidemark.pipeline.tables.schemas import PANES

DAY_S = 86_400
NOTHING = pa.table({"nothing": [1]})


def aged(path: Path, days: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        pq.write_table(NOTHING, path)
    os.utime(path, (time.time() - days * DAY_S,) * 2)
    return path


def test_only_files_that_no_version_names_go_and_only_after_a_day(tmp_path: Path) -> None:
    create_tables(str(tmp_path), PAGE_VIEWS_ALONE)
    table = tmp_path / "panes"
    for mode in ("append", "overwrite"):
        write_deltalake(str(table), _rows(), mode=mode)
    named = [aged(path, days=3) for path in table.glob("report=*/*.parquet")]
    left = [aged(table / FOLDER / "a" / "page_views" / "part-0.parquet", 2), aged(table / "part-0.parquet", 2)]
    left.append(aged(table / FOLDER / "a" / "_temporary" / "0" / "part-0.parquet", 2))
    young = aged(table / FOLDER / "b" / "part-0.parquet", 0.5)
    remove_dead_files(str(tmp_path), PANES)
    assert not any(path.exists() for path in left)
    assert young.exists()
    # One of them is of an earlier version, which can still be read.
    assert len(named) == 2
    assert all(path.exists() for path in named)
    assert DeltaTable(str(table)).to_pyarrow_table().num_rows == 1


def _rows() -> pa.Table:
    names = {name: [None] for name in PANES.schema.names} | {"report": ["page_views"], "batch": [1], "pane_start": [0]}
    return pa.table(names).cast(PANES.schema)
