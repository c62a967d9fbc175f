"""Settings of dimensions that cannot be are refused in a sentence."""

import json
import re
from pathlib import Path

import pytest

from tests.support.parsed_settings import parsed_settings
from tidemark.pipeline.errors import SetUpError


@pytest.mark.parametrize(
    ("dimensions", "sentence"),
    [
        ('{"plan": {}}', "set a path or sql"),
        ('{"plan": {"path": "a", "sql": "b"}}', "set a path or sql"),
        ('{"plan": {"path": "a", "zone": "Asia/Tokyo"}}', "zone is for sql"),
        ('{"plan": {"sql": "hour(event_time)", "zone": "Mars"}}', "there is no time zone 'Mars'"),
        ('{"plan": {"path": "a", "type": "number"}}', "'text', 'integer', 'boolean' or 'date'"),
        ('{"plan": "a b"}', "should match pattern"),
        ('{"order": "a"}', "cannot be named 'order', which is a word of SQL"),
        ('{"page_views": "a"}', "cannot be named 'page_views'"),
        ('{"Plan": "a"}', "start with a lower-case letter"),
        ('{"other": "a"}', "report by_plan has the key 'plan': choose from user_id, page_url, event_type, other"),
        (
            "{" + ", ".join(f'"plan{number or ""}": "a"' for number in range(9)) + "}",
            "has 9 dimensions, and may have 8",
        ),
    ],
)
def test_a_dimension_that_cannot_be_is_refused_in_a_sentence(dimensions: str, sentence: str) -> None:
    keys = [name for name in json.loads(dimensions) if name.startswith("plan")] or ["plan"]
    with pytest.raises(SetUpError, match=re.escape(sentence)):
        parsed_settings(f"--dimensions={dimensions}", f"--reports=by_plan={json.dumps({'keys': keys})}")


def test_a_dimension_of_the_user_is_refused_where_users_have_pseudonyms(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("x" * 64)
    with pytest.raises(SetUpError, match=r"dimensions\.start names user_id"):
        parsed_settings('--dimensions=start={"sql": "left(user_id, 1)"}', f"--privacy.pseudonym-key-file={key}")
