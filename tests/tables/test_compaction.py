"""Compaction commits by what there is to merge or to remove, and not by batches."""

from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.verify.site import POLICY, REPORTS, Event, Site

pytestmark = pytest.mark.slow
SMALL = replace(POLICY, reports=REPORTS[:1])


def test_what_many_batches_have_of_final_windows_goes_in_one_commit(tmp_path: Path) -> None:
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
