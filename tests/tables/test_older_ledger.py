"""A warehouse of a version that knew fewer verdicts can be read as it is, and goes on with the next start."""

from pathlib import Path

import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.support.conservation import violations
from tests.verify.conftest import play
from tests.verify.site import PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.amend.erase.future_events import drop_later
from tidemark.pipeline.amend.erase.person import Person
from tidemark.pipeline.amend.erase.person_tables import PersonalTables
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.reading.service_status import read_status
from tidemark.pipeline.reading.sql_views import views
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.schemas import LEDGER

pytestmark = pytest.mark.slow
LATER = ["duplicate", "erased"]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A site at rest, whose ledger is as an older version made it."""
    site = play(Site(tmp_path, PAGE_VIEWS_ALONE).open())
    ledger = DeltaTable(LEDGER.uri(str(tmp_path)))
    rows = ledger.to_pyarrow_table().drop_columns(LATER)
    openings = pc.replace_substring(rows["opening"], ', "deduplicate": false', "")
    assert openings != rows["opening"]
    older = rows.set_column(rows.column_names.index("opening"), "opening", openings)
    write_deltalake(ledger, older, mode="overwrite", schema_mode="overwrite")
    return site


def columns(site: Site) -> list[str]:
    return [field.name for field in DeltaTable(LEDGER.uri(str(site.warehouse))).schema().fields]


def test_it_is_read_as_one_without_duplicates(site: Site) -> None:
    warehouse = str(site.warehouse)
    assert not {*LATER} & {*columns(site)}
    assert violations(warehouse) == []
    summary = read_status(warehouse).summary
    assert summary is not None
    assert (summary.account.duplicate, summary.account.erased, summary.account.counted) == (0, 0, 10)
    assert summary.account.balances
    shown = next(view for view in views(warehouse, Engine.DUCKDB) if view.name == "ledger").columns
    assert not {*LATER} & {*shown}
    newest = Ledger(warehouse).latest()[0]
    assert (newest.duplicate, newest.erased) == (0, 0)
    with pytest.raises(SetUpError, match="drops no later events: start one of this version first"):
        drop_later(PersonalTables.of(warehouse), Person("ann"))


def test_the_next_epoch_adds_the_column_with_its_first_rows(site: Site) -> None:
    version = DeltaTable(LEDGER.uri(str(site.warehouse))).version()
    site.open()
    assert DeltaTable(LEDGER.uri(str(site.warehouse))).version() == version + 1
    assert {*LATER} <= {*columns(site)}
    site.batch(Event(33))
    assert violations(site.warehouse) == []
    newest = Ledger(str(site.warehouse)).latest()[0]
    assert (newest.batch, newest.duplicate, newest.erased) == (2 * EPOCH + 1, 0, 0)
    summary = read_status(str(site.warehouse)).summary
    assert summary is not None
    assert summary.account.duplicate == 0
