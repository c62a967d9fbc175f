"""The table of measures: what stands in it can be asked for, is described, and makes a table."""

from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import ValidationError

from pipeline.event_time.reports import Report
from pipeline.event_time.windows.grid import Grid
from pipeline.measures import MEASURES, PARTS
from pipeline.settings.report_settings import ReportSettings
from pipeline.tables.schemas import PANES, result_of

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_is_described(name: str) -> None:
    rows = [line for line in OPERATIONS.read_text().splitlines() if line.startswith("| `")]
    assert any(f"`{name}`" in row.split("|")[1] for row in rows)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_has_a_column_of_its_own(name: str) -> None:
    schema = result_of(Report("one", Grid(1, 1), 0, measures=(name,))).schema
    columns = [one for one in (name, MEASURES[name].state) if one]
    assert schema.names == ["window_start", "window_end", "user_id", *columns, "late_events", "published_batch"]


def test_parts_are_columns_of_panes_by_the_type_that_they_say() -> None:
    assert all(PANES.schema.field(part.name).type == pa.type_for_alias(part.type) for part in PARTS)


def test_a_measure_that_nobody_knows_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValidationError, match="no measure 'visits': choose from page_views, clicks, unique_users"):
        ReportSettings(measures=("visits",))
