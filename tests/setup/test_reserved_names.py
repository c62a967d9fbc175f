"""A report cannot be called as a table of another kind is."""

import pytest
from pydantic import ValidationError

from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.schemas import OWN, USER_TOTALS


@pytest.mark.parametrize("name", [spec.name for spec in (*OWN, USER_TOTALS)])
def test_the_name_of_a_table_that_is_no_report_is_taken(name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        Settings.model_validate({"reports": {name: {"keys": ["user_id"]}}})
