"""What executors write is what the driver would have written, row by row and in what the log tells of it."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from pipeline import columns as c
from pipeline.errors import Replaced
from pipeline.event_time.reports import Report
from pipeline.event_time.windows.grid import Grid
from pipeline.runtime.spark import spark_session
from pipeline.settings.model import SparkSettings
from pipeline.tables.executors import SparkExecutors
from pipeline.tables.large import FOLDER, NOTHING, FilesView, Large
from pipeline.tables.schemas import result_of
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.warehouse import rows
from tests.verify.site import GROWING, MINUTE, POLICY, REPORTS, TIMED, Event, Site

BEGUN = Report(
    "begun",
    Grid(10 * MINUTE, 10 * MINUTE),
    5 * MINUTE,
    keys=("page_url",),
    measures=("page_views", "sessions_begun"),
    session_gap_ms=5 * MINUTE,
)
LARGE = (REPORTS[1], REPORTS[2], REPORTS[4], *TIMED, GROWING, BEGUN)
"""Sliding windows, days, counts of events, windows and sessions with times and texts, growing windows, begins."""
SOME = replace(POLICY, reports=LARGE, totals=None)
ONE = replace(POLICY, reports=REPORTS[:1], totals=None)
TWO_LATER = (Event(1), Event(2, "bob", "/a")), (Event(12),), (Event(3, "cid"), Event(13))

events = st.builds(Event, st.integers(0, 59), st.sampled_from("abc"), st.sampled_from(["/", "/a", None]), st.booleans())
batches = st.lists(st.lists(events, min_size=1, max_size=8), min_size=2, max_size=3)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER))


def played(site: Site, of: Sequence[Sequence[Event]]) -> Site:
    for some in of:
        site.batch(*some)
    return site


def told(table: DeltaTable) -> list[str]:
    """Every row, in an order of its own."""
    return sorted(map(str, table.to_pyarrow_table().to_pylist()))


def bounds(table: DeltaTable) -> dict[str, object]:
    """The rows of a table and the bounds of its columns, by the log alone."""
    files = pa.table(table.get_add_actions(flatten=True))
    if not files.num_rows:
        return {}
    found = {"rows": sum(files["num_records"].to_pylist())}
    for name in sorted(files.column_names):
        if name.startswith(("min.", "max.")):
            values = [value for value in files[name].to_pylist() if value is not None]
            found[name] = (min if name.startswith("min.") else max)(values, default=None)
    return {name: value for name, value in found.items() if value is not None}


# To shrink an example would take minutes of Spark.
@settings(max_examples=2, deadline=None, phases=[Phase.generate])
@given(batches)
def test_both_engines_publish_the_same_tables(spark: SparkSession, of: list[list[Event]]) -> None:
    work = Path(tempfile.mkdtemp(prefix="two engines "))
    try:
        # The watermark follows the events, so the last one fires all windows.
        of = [*of, [Event(90)]]
        played(Site(work / "driver", SOME).open(), of)
        played(Site(work / "spark", SOME, large=Large(SparkExecutors(spark), 1)).open(), of)
        for report in LARGE:
            spec = result_of(report)
            one, other = (DeltaTable(spec.uri(str(work / name))) for name in ("driver", "spark"))
            assert told(other) == told(one), report.name
            assert bounds(other) == bounds(one), report.name
            assert (other.schema(), other.protocol()) == (one.schema(), one.protocol())
            assert transactions(other) == transactions(one)
            assert any(path.startswith(FOLDER) for path in pa.table(other.get_add_actions())["path"].to_pylist())
    finally:
        shutil.rmtree(work)


def transactions(table: DeltaTable) -> list[int | None]:
    return [table.transaction_version(app) for app in ("tidemark", "tidemark-closed")]


class Watched:
    """Executors beside whom something happens when they have written, and nothing is committed yet."""

    def __init__(self, spark: SparkSession, *happens: Callable[[], object]) -> None:
        self._executors, self._happens = SparkExecutors(spark), list(happens)

    def write(self, sql: str, views: Mapping[str, FilesView], schema: pa.Schema, to: str) -> None:
        self._executors.write(sql, views, schema, to)
        self._next()

    def write_rows(self, rows: DataFrame, schema: pa.Schema, to: str) -> None:
        self._executors.write_rows(rows, schema, to)
        self._next()

    def _next(self) -> None:
        if self._happens:
            self._happens.pop(0)()


def test_what_a_life_wrote_and_did_not_commit_counts_for_nothing(tmp_path: Path, spark: SparkSession) -> None:
    def killed() -> None:
        raise KeyboardInterrupt

    site = played(Site(tmp_path, ONE, large=Large(Watched(spark, killed), 1)).open(), TWO_LATER[:1])
    with pytest.raises(KeyboardInterrupt):
        site.batch(*TWO_LATER[1])
    assert not rows(tmp_path, "page_views")
    assert loose(tmp_path), "they had written"
    site.last = site.number
    site.open().publish_again()
    assert {row[c.USER_ID]: row[c.PAGE_VIEWS] for row in rows(tmp_path, "page_views")} == {"ann": 1, "bob": 1}


def test_a_service_that_was_replaced_while_executors_wrote_cannot_commit(tmp_path: Path, spark: SparkSession) -> None:
    def replaced() -> None:
        Site(tmp_path, ONE, number=site.number, position=3, last=site.number, watermark=site.watermark).open()

    site = Site(tmp_path, ONE, large=Large(Watched(spark, replaced), 1)).open()
    site.batch(*TWO_LATER[0])
    with pytest.raises(Replaced):
        site.batch(*TWO_LATER[1])
    assert not loose(tmp_path), "what can never be committed is removed"


def test_rows_beside_which_somebody_else_commits_are_made_anew(tmp_path: Path, spark: SparkSession) -> None:
    def nothing() -> None:
        """When the window is published for the first time."""

    def compacted() -> None:
        DeltaTable(str(tmp_path / "page_views")).optimize.compact()

    site = Site(tmp_path, ONE, large=Large(Watched(spark, nothing, compacted), 1)).open()
    played(site, TWO_LATER)
    assert {row[c.USER_ID]: row[c.PAGE_VIEWS] for row in rows(tmp_path, "page_views")} == {"ann": 1, "bob": 1, "cid": 1}
    assert not loose(tmp_path)


def test_small_work_is_the_drivers(tmp_path: Path, spark: SparkSession) -> None:
    asked = list[tuple[str, str]]()
    large = Large(SparkExecutors(spark), 3, lambda job, by: asked.append((job, by)))
    played(Site(tmp_path, ONE, large=large).open(), TWO_LATER)
    # Two rows of panes in the window at first, then three.
    assert asked == [("publication", "driver"), ("publication", "executors")]


def test_nothing_is_large_where_there_are_no_executors(tmp_path: Path) -> None:
    played(Site(tmp_path, ONE, large=NOTHING).open(), TWO_LATER)
    assert not list((tmp_path / "page_views").glob(f"{FOLDER}/*"))


def loose(warehouse: Path) -> set[str]:
    """Files of `page_views` that no version ever named."""
    table = DeltaTable(str(warehouse / "page_views"))
    named, all_ = ({*table.vacuum(0, enforce_retention_duration=False, full=full)} for full in (False, True))
    return all_ - named
