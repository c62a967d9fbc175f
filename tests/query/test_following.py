"""A copy of a report that follows its changes, as docs/queries.md has it, is the report."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.query.page import block_of
from tests.support.warehouse import rows
from tests.verify.site import POLICY, REPORTS, Event, Site

pytestmark = pytest.mark.slow
STEPS = [
    [Event(1), Event(3, "bob", click=True), Event(8)],
    [Event(12), Event(13, "bob")],
    # Late for a window that is shown; then it joins two sessions.
    [Event(9, "bob")],
    [Event(22), Event(19), Event(16.5)],
    [Event(60)],
]


@pytest.mark.parametrize("name", ["page_views", "sessions"])
def test_a_copy_that_follows_is_the_report(tmp_path: Path, name: str) -> None:
    names: dict[str, Any] = {"warehouse": str(tmp_path)}
    exec(block_of("How to ask") + block_of("Following the changes"), names)  # noqa: S102 - it is our own page
    policy = replace(POLICY, reports=tuple(one for one in REPORTS if one.name == name), totals=None)
    site, copy, since = Site(tmp_path, policy).open(), list[dict[str, Any]](), 0
    for step in STEPS:
        site.batch(*step)
        changed, since = names["changes"](name, since)
        for row in changed.iter_rows(named=True):
            copy = [one for one in copy if not _is_in(one, row)] + [row]
        assert sorted(copy, key=_key) == sorted(rows(tmp_path, name), key=_key)
    again, _ = names["changes"](name, since)
    assert again.is_empty()


def _is_in(one: dict[str, Any], row: dict[str, Any]) -> bool:
    same = one["user_id"] == row["user_id"]
    return bool(same and row["window_start"] <= one["window_start"] and one["window_end"] <= row["window_end"])


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["window_start"], row["user_id"]
