"""Corrections that were copied earlier or later than the tables with their rows."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.conservation import violations
from tests.verify.conftest import Copy
from tests.verify.plant import alter, change
from tests.verify.site import MINUTE, NOON, PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.results.corrections import Corrections
from tidemark.pipeline.results.kind_registry import kind_of
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.one_time import require_one_time

pytestmark = pytest.mark.slow
WINDOW = {"window_start_ms": NOON, "window_end_ms": NOON + 10 * MINUTE}
COUNTS = {"page_views": 1, "clicks": 0, "late_events": 1, "closed_until": NOON}


def correct(warehouse: Path, offset: int) -> None:
    """Adds an event at an offset to the first window of page_views."""
    corrections = Corrections(str(warehouse))
    record: dict[str, Any] = {"topic": "t", "partition": 0, "offset": offset, "event_time": NOON + MINUTE}
    assert corrections.append_next([{"report": "page_views", "user_id": "ann", **record, **COUNTS, **WINDOW}])
    corrections.apply(kind_of(PAGE_VIEWS_ALONE.reports[0]))


def start(warehouse: Path) -> None:
    """Compares the tables as a start does."""
    ledger = Ledger(str(warehouse))
    newest = ledger.latest()[0].batch
    require_one_time(str(warehouse), ledger, newest, newest, PAGE_VIEWS_ALONE)


def test_a_result_with_corrections_that_the_table_of_corrections_lacks(copy: Copy, tmp_path: Path) -> None:
    warehouse = copy("page_views")
    correct(warehouse, 9)
    start(warehouse)
    earlier = Path(shutil.copytree(warehouse / "corrections", tmp_path.parent / f"{tmp_path.name}-corrections"))
    correct(warehouse, 8)
    shutil.rmtree(warehouse / "corrections")
    earlier.rename(warehouse / "corrections")
    assert "page_views: it has correction 2, but corrections ends with 1: it is a newer copy" in violations(warehouse)
    with pytest.raises(SetUpError, match="page_views has correction 2, but corrections ends with 1"):
        start(warehouse)
    shutil.rmtree(warehouse / "corrections")
    assert "page_views: it has correction 2, but corrections ends with 0: it is a newer copy" in violations(warehouse)
    with pytest.raises(SetUpError, match="page_views has correction 2, but corrections ends with 0"):
        start(warehouse)


def test_a_correction_of_a_record_that_the_ledger_has_not_read(copy: Copy) -> None:
    warehouse = copy("page_views")
    correct(warehouse, 99)
    expected = "corrections: it has offset 99 of partition 0 of t, but the ledger ends at 11: it is a newer copy"
    assert expected in violations(warehouse)


def test_dead_letters_that_lack_those_of_erased_users(tmp_path: Path) -> None:
    warehouse, earlier = tmp_path / "warehouse", tmp_path / "earlier"
    site = Site(warehouse, PAGE_VIEWS_ALONE).open().batch(Event(1)).batch(Event(31))
    site.batch(Event(2, "dan"))
    shutil.copytree(warehouse / "dead_letters", earlier)
    site.batch(Event(3, "dan"))
    alter(warehouse, "ledger", change({"batch": site.number}, too_late=0, erased=1))
    shutil.rmtree(warehouse / "dead_letters")
    earlier.rename(warehouse / "dead_letters")
    last, missed = site.number - 1, site.number
    expected = (
        f"dead_letters: it ends with batch {last}, but the ledger has rows of it in {missed}: it is an older copy"
    )
    assert expected in violations(warehouse)
    with pytest.raises(
        SetUpError, match=f"dead_letters ends with batch {last}, but the ledger has rows of it in batch"
    ):
        start(warehouse)
