"""Compaction commits a merge or a removal at a time, and merges a range of keys at a time."""

from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.verify.site import POLICY, REPORTS, Event, Site
from tidemark.pipeline.results.kind_registry import kind_of
from tidemark.pipeline.results.result_table import panes_sql
from tidemark.pipeline.tables.query import query
from tidemark.pipeline.tuning import STANDARD

pytestmark = pytest.mark.slow
SMALL = replace(POLICY, reports=REPORTS[:1])


def test_one_commit_removes_the_panes_of_final_windows_of_many_batches(tmp_path: Path) -> None:
    site = Site(tmp_path, SMALL).open()
    for minute in range(0, 120, 11):
        site.batch(Event(minute))
    panes = DeltaTable(tmp_path / "panes")
    version, before = panes.version(), files(panes)
    site.compact()
    panes.update_incremental()
    assert (before, files(panes)) == (11, 1)
    assert panes.version() == version + 1


def files(panes: DeltaTable) -> int:
    return sum("report=page_views" in uri for uri in panes.file_uris())


def test_each_key_is_in_exactly_one_portion(tmp_path: Path) -> None:
    site = Site(tmp_path, SMALL).open()
    users = [f"user {number}" for number in range(100)]
    site.batch(*(Event(minute, user) for user in users for minute in (1, 2)))
    panes, kind = DeltaTable(tmp_path / "panes"), kind_of(SMALL.reports[0])
    conditions = kind.key_ranges_sql(["user_id", "page_url"], 4 * STANDARD.statement_rows)
    found = [query(panes_sql(SMALL.reports[0], site.number, one), panes=panes)["user_id"] for one in conditions]
    portions = [{*some.to_pylist()} for some in found]
    assert len(portions) == 5
    assert all(len(some) > 5 for some in portions)
    assert sorted(user for some in portions for user in some) == sorted(users)
    assert sum(map(len, found)) == 2 * len(users)
