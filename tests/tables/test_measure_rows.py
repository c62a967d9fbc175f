"""Each entry of the table of measures can be configured, is described, and has a column."""

from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import ValidationError

from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.measures import MEASURES, PARTS
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.schemas import PANES, result_of

SETTINGS = Path(__file__).parents[2] / "docs" / "settings.md"


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_is_described(name: str) -> None:
    rows = [line for line in SETTINGS.read_text().splitlines() if line.startswith("| `")]
    assert any(f"`{name}`" in row.split("|")[1] for row in rows)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_has_a_column_of_its_own(name: str) -> None:
    schema = result_of(Report("one", Grid(1, 1), 0, measures=(name,))).schema
    columns = [name, *MEASURES[name].states]
    assert schema.names == ["window_start", "window_end", "user_id", *columns, "late_events", "published_batch"]


def test_parts_are_columns_of_panes_with_their_types() -> None:
    assert all(PANES.schema.field(part.name).type == pa.type_for_alias(part.type) for part in PARTS)


def test_an_unknown_measure_is_refused_with_the_names_of_all_measures() -> None:
    with pytest.raises(ValidationError, match="few: there is no measure 'visits': choose from page_views, clicks, "):
        Settings.model_validate({"reports": {"few": {"measures": ["visits"]}}})
