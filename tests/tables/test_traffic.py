"""The bytes that commits wrote, and took out of a table, by what they were for."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from benchmarks.ours import amplification
from tests.verify.site import POLICY, REPORTS, Event, Site
from tidemark.pipeline.amend.erase.erasure import erase_person
from tidemark.pipeline.runtime.disk import Purpose
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.merging import merge_small_files
from tidemark.pipeline.tables.schemas import results_of
from tidemark.pipeline.tables.traffic import Meter, traffic
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.slow
SMALL = replace(POLICY, reports=REPORTS[:1])


def live(warehouse: Path, name: str) -> int:
    """The bytes of a table's files."""
    return pc.sum(pa.table(DeltaTable(f"{warehouse}/{name}").get_add_actions())["size_bytes"]).as_py() or 0


def test_what_was_written_and_not_replaced_is_there(tmp_path: Path) -> None:
    site = Site(tmp_path, SMALL, tuning=Tuning(merged_runs=2)).open()
    meter = Meter(str(tmp_path), results_of(SMALL))
    for minute in range(0, 60, 11):
        site.batch(Event(minute), Event(minute, "bob"), Event(minute, f"user-{minute}"))
    site.compact()
    erase_person(Settings(warehouse=str(tmp_path)), "bob", timedelta(0))
    found = meter.read()
    told = {key for key, size in found.written.items() if size}
    assert told >= {("panes", one) for one in (Purpose.APPEND, Purpose.COMPACTION, Purpose.REMOVAL)} | {
        ("user_totals", Purpose.PUBLICATION),
        ("page_views", Purpose.PUBLICATION),
        ("page_views", Purpose.REMOVAL),
    }
    for name in ("panes", "page_views", "user_totals"):
        written, replaced = (sum(side[name, one] for one in Purpose) for side in (found.written, found.replaced))
        assert written - replaced == live(tmp_path, name)
        assert replaced > 0
    assert not meter.read().written.total(), "each commit is counted once"
    assert (
        traffic(DeltaTable(f"{tmp_path}/panes"), "panes").written["panes", Purpose.APPEND]
        == (found.written["panes", Purpose.APPEND])
    )
    assert amplification(found.written) > 1


def test_what_a_merge_of_small_files_writes_is_compaction(tmp_path: Path) -> None:
    site = Site(tmp_path, SMALL).open()
    for minute in (0, 11, 22, 33):
        site.batch(Event(minute))
    handle = Handle(f"{tmp_path}/page_views")
    before = handle.table.version()
    assert merge_small_files(handle, 1 << 20, 2, by=None)
    found = traffic(handle.table, "page_views", after=before)
    assert found.written == {("page_views", Purpose.COMPACTION): live(tmp_path, "page_views")}
