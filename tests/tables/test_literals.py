"""Times as literals of delta-rs: also those that its texts cannot hold."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tidemark.pipeline.event_time.rules import END_OF_INPUT
from tidemark.pipeline.instants import moment, utc_sql
from tidemark.pipeline.tables.query import rows_of

pytestmark = pytest.mark.slow
LAST_TEXT_MS = 9_223_372_036_854
TIMES = (0, 1_714_521_600_123, LAST_TEXT_MS, LAST_TEXT_MS + 1, 10_414_456_034_565, END_OF_INPUT - 1, END_OF_INPUT)


def test_a_literal_is_the_time_in_queries_and_predicates_up_to_the_end_of_input(tmp_path: Path) -> None:
    stored = pa.array([moment(time) for time in TIMES], pa.timestamp("us", "UTC"))
    write_deltalake(tmp_path, pa.table({"time": stored, "place": [*range(len(TIMES))]}))
    for place, time in enumerate(TIMES):
        table = DeltaTable(tmp_path)
        found = rows_of(f"SELECT place FROM t WHERE time <= {utc_sql(time)} ORDER BY 1", t=table)  # noqa: S608 - ours
        assert [row["place"] for row in found] == [*range(place + 1)]
        found = rows_of(f"SELECT place FROM t WHERE time IN ({utc_sql(time)})", t=table)  # noqa: S608 - ours
        assert [row["place"] for row in found] == [place]
        one = pa.table({"time": stored.slice(place, 1), "place": [place]})
        write_deltalake(tmp_path, one, mode="overwrite", predicate=f"time IN ({utc_sql(time)})")
        assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == len(TIMES)
    assert DeltaTable(tmp_path).delete(f"time > {utc_sql(TIMES[0])}")["num_deleted_rows"] == len(TIMES) - 1
