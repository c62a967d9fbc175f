"""Settings of dimensions that cannot be are refused in a sentence."""

import json
import re
from pathlib import Path
from typing import Any

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
        ('{"plan": {"sql": "a", "personal": true}}', "personal is for texts at a path"),
        ('{"plan": {"path": "a", "type": "integer", "personal": true}}', "personal is for texts at a path"),
        ('{"plan": {"path": "a", "personal": true, "top": 9}}', "personal and top exclude each other"),
        ('{"plan": {"path": "a", "top": -1}}', "greater than or equal to 0"),
        ('{"plan": {"path": "a", "top": 1000001}}', "less than or equal to 1000000"),
        ('{"plan": {"path": "a", "top": 1.5}}', "integer"),
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


TOP = {"plan": {"path": "a", "top": 9}, "account": {"path": "b", "personal": True}, "plan_others": "c"}


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        ({"keys": ["plan"], "window": {"gap": "1m"}}, "sessions and counts of events are windows of one value"),
        ({"keys": ["plan"], "window": {"count": 3}}, "sessions and counts of events are windows of one value"),
        ({"keys": ["plan"], "window": {"count": 3, "slide": 1}}, "sessions and counts of events are windows of one"),
        ({"keys": ["plan", "user_id"]}, "and the key user_id: to erase a person would change"),
        ({"keys": ["plan", "account"]}, "and the key account: to erase a person would change"),
        ({"keys": ["plan", "plan_others"]}, "a column plan_others, and another column of this name"),
    ],
)
def test_a_report_in_which_values_cannot_be_ranked_is_refused(report: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SetUpError, match=re.escape("report by_plan has the key plan, which has a top")) as refusal:
        parsed_settings(f"--dimensions={json.dumps(TOP)}", f"--reports=by_plan={json.dumps(report)}")
    assert sentence in str(refusal.value)


def test_a_dimension_of_the_user_is_refused_where_users_have_pseudonyms(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("x" * 64)
    with pytest.raises(SetUpError, match=r"dimensions\.start names user_id"):
        parsed_settings('--dimensions=start={"sql": "left(user_id, 1)"}', f"--privacy.pseudonym-key-file={key}")


def test_a_report_that_counts_sessions_of_users_has_no_personal_key() -> None:
    reports = {"begun": {"keys": ["account"], "measures": ["sessions_begun"]}}
    with pytest.raises(SetUpError, match="report begun has sessions_begun and the personal key account: if events"):
        parsed_settings(*arguments({"reports": reports}))


PERSONAL = {"path": "customer.id", "personal": True}


@pytest.mark.parametrize(
    ("setting", "reader"),
    [
        ({"dimensions": {"zip": {"sql": "left(customer.zip, 3)"}}}, "zip"),
        ({"dimensions": {"name": {"path": "customer.id.name"}}}, "name"),
        ({"dimensions": {"customers": "customer"}}, "customers"),
        ({"dimensions": {"same": "Customer.ID"}}, "same"),
        ({"dimensions": {"same": PERSONAL}}, "same"),
        ({"measures": {"ids": {"unique": "customer.id"}}}, "ids"),
        ({"measures": {"ids": {"sum": {"sql": "length(customer.id)"}}}}, "ids"),
        ({"schemas.mapping.page": "customer.id"}, "schemas.mapping.page"),
        ({"schemas.mapping.user": "customer.id,anonymous"}, "schemas.mapping.user"),
        ({"reports": {"some": {"where": "customer IS NOT NULL"}}}, "reports.some.where"),
    ],
)
def test_nothing_else_reads_a_personal_dimension_where_users_have_pseudonyms(
    setting: dict[str, Any], reader: str, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text("x" * 64)
    hidden = f"--privacy.pseudonym-key-file={key}"
    parsed_settings(hidden, *arguments({"dimensions": {"zip": "customer.zip", "first": {"sql": "customer_2 IS NULL"}}}))
    parsed_settings(*arguments(setting))
    with pytest.raises(SetUpError, match=rf"{re.escape(reader)} reads customer\.id, but account is personal"):
        parsed_settings(hidden, *arguments(setting))


def arguments(setting: dict[str, Any]) -> list[str]:
    """Returns the options of a setting and of a personal dimension."""
    dimensions = {"account": PERSONAL, **setting.get("dimensions", {})}
    return [
        f"--{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in {**setting, "dimensions": dimensions}.items()
    ]
