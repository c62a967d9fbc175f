"""Executors write what the driver would have written: the same rows, and the same statistics in the log."""

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

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.seeds import in_turn
from tests.support.warehouse import rows
from tests.verify.site import GROWING, LAST_THREE, MINUTE, POLICY, REPORTS, TIMED, Event, Site
from tidemark.pipeline import columns as c
from tidemark.pipeline.cli import main
from tidemark.pipeline.errors import Replaced, SetUpError
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings
from tidemark.pipeline.tables.executors import SparkExecutors, require_client
from tidemark.pipeline.tables.large import FOLDER, NOTHING, FilesView, LargeJobs
from tidemark.pipeline.tables.schemas import result_of

pytestmark = pytest.mark.slow

BEGUN = Report(
    "begun",
    Grid(10 * MINUTE, 10 * MINUTE),
    5 * MINUTE,
    keys=("page_url",),
    measures=("page_views", "sessions_begun"),
    session_gap_ms=5 * MINUTE,
)
LARGE = (REPORTS[1], REPORTS[2], REPORTS[4], LAST_THREE, *TIMED, GROWING, BEGUN)
"""Sliding windows, days, count windows that tumble and slide, windows and sessions with times, growing windows, begun
sessions."""
SOME = replace(POLICY, reports=LARGE, totals=None)
ONE = replace(POLICY, reports=REPORTS[:1], totals=None)
TWO_LATER = (Event(1), Event(2, "bob", "/a")), (Event(12),), (Event(3, "cid"), Event(13))

events = st.builds(Event, st.integers(0, 59), st.sampled_from("abc"), st.sampled_from(["/", "/a", None]), st.booleans())
FOLDERS = st.text(
    st.characters(exclude_characters="/%*?[]{}\\", exclude_categories=["C", "Z"])
    | st.sampled_from(" '\"`#&$;:~!()<>|"),
    min_size=1,
    max_size=12,
)
"""Names of folders that settings accept."""
batches = st.lists(st.lists(events, min_size=1, max_size=8), min_size=2, max_size=3)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER))


def played(site: Site, of: Sequence[Sequence[Event]]) -> Site:
    for some in of:
        site.batch(*some)
    return site


def rows_as_text(table: DeltaTable) -> list[str]:
    """Returns every row as text, sorted."""
    return sorted(map(str, table.to_pyarrow_table().to_pylist()))


def bounds(table: DeltaTable) -> dict[str, object]:
    """Returns the row count of a table and the bounds of its columns, from the log alone."""
    files = pa.table(table.get_add_actions(flatten=True))
    if not files.num_rows:
        return {}
    statistics = {"rows": sum(files["num_records"].to_pylist())}
    for name in sorted(files.column_names):
        if name.startswith(("min.", "max.")):
            values = [value for value in files[name].to_pylist() if value is not None]
            statistics[name] = (min if name.startswith("min.") else max)(values, default=None)
    return {name: value for name, value in statistics.items() if value is not None}


@in_turn(0, 4)
# To shrink an example would take minutes of Spark.
@settings(max_examples=2, deadline=None, phases=[Phase.generate])
@given(batches, FOLDERS)
def test_both_engines_publish_the_same_tables(spark: SparkSession, of: list[list[Event]], folder: str) -> None:
    work = Path(tempfile.mkdtemp()) / f"two {folder}"
    try:
        # The watermark follows the events, so the last one fires all windows; two of a user fill a count window.
        of = [*of, [Event(89), Event(90)]]
        played(Site(work / "driver", SOME).open(), of)
        played(Site(work / "spark", SOME, large=LargeJobs(SparkExecutors(spark), 1)).open(), of)
        for verb in (
            ["verify"],
            ["status"],
            ["live", "--report", LARGE[0].name],
            ["sql", f"FROM {LARGE[0].name}_live"],
        ):
            assert main([*verb, "--warehouse", str(work / "spark")]) == 0
        for report in LARGE:
            spec = result_of(report)
            driver, spark_table = (DeltaTable(spec.uri(str(work / name))) for name in ("driver", "spark"))
            assert rows_as_text(spark_table) == rows_as_text(driver), report.name
            assert bounds(spark_table) == bounds(driver), report.name
            assert (spark_table.schema(), spark_table.protocol()) == (driver.schema(), driver.protocol())
            assert transactions(spark_table) == transactions(driver)
            assert any(path.startswith(FOLDER) for path in pa.table(spark_table.get_add_actions())["path"].to_pylist())
    finally:
        shutil.rmtree(work.parent)


def transactions(table: DeltaTable) -> list[int | None]:
    return [table.transaction_version(app) for app in ("tidemark", "tidemark-closed")]


class Watched:
    """Executors that call functions after they have written, before the commit."""

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


def test_files_of_a_killed_service_that_were_not_committed_do_not_count(tmp_path: Path, spark: SparkSession) -> None:
    def killed() -> None:
        raise KeyboardInterrupt

    site = played(Site(tmp_path, ONE, large=LargeJobs(Watched(spark, killed), 1)).open(), TWO_LATER[:1])
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

    site = Site(tmp_path, ONE, large=LargeJobs(Watched(spark, replaced), 1)).open()
    site.batch(*TWO_LATER[0])
    with pytest.raises(Replaced):
        site.batch(*TWO_LATER[1])
    assert not loose(tmp_path), "what can never be committed is removed"


def test_rows_are_computed_again_after_a_concurrent_commit(tmp_path: Path, spark: SparkSession) -> None:
    def nothing() -> None:
        """Stands for the first publication of the window."""

    def compacted() -> None:
        DeltaTable(str(tmp_path / "page_views")).optimize.compact()

    site = Site(tmp_path, ONE, large=LargeJobs(Watched(spark, nothing, compacted), 1)).open()
    played(site, TWO_LATER)
    assert {row[c.USER_ID]: row[c.PAGE_VIEWS] for row in rows(tmp_path, "page_views")} == {"ann": 1, "bob": 1, "cid": 1}
    assert not loose(tmp_path)


def test_a_file_that_a_lost_executor_writes_later_is_not_committed(tmp_path: Path, spark: SparkSession) -> None:
    def written_again() -> None:
        """Stands for an executor that Spark has given up, and which closes its file after the job's end."""
        for file in [*(tmp_path / "page_views" / FOLDER).glob("*/*.parquet")]:
            attempt = file.parent / "_temporary" / "0" / "_temporary" / "attempt_0"
            attempt.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, attempt)

    played(Site(tmp_path, ONE, large=LargeJobs(Watched(spark, written_again), 1)).open(), TWO_LATER[:2])
    assert sorted(row[c.USER_ID] for row in rows(tmp_path, "page_views")) == ["ann", "bob"]


def test_a_store_without_a_client_is_reported_at_the_start(spark: SparkSession, tmp_path: Path) -> None:
    require_client(spark, f"file:{tmp_path}")
    for uri in ("s3://bucket/warehouse", "abfss://container@account.dfs.core.windows.net/warehouse"):
        with pytest.raises(SetUpError, match=f"executors cannot read and write {uri}: .*; give Spark a client"):
            require_client(spark, uri)


def test_the_driver_does_small_jobs(tmp_path: Path, spark: SparkSession) -> None:
    reported = list[tuple[str, str]]()
    large = LargeJobs(SparkExecutors(spark), 3, lambda job, by: reported.append((job, by)))
    played(Site(tmp_path, ONE, large=large).open(), TWO_LATER)
    # Two rows of panes in the window at first, then three.
    assert reported == [("publication", "driver"), ("publication", "executors")]


def test_without_executors_no_job_is_large(tmp_path: Path) -> None:
    played(Site(tmp_path, ONE, large=NOTHING).open(), TWO_LATER)
    assert not list((tmp_path / "page_views").glob(f"{FOLDER}/*"))


def loose(warehouse: Path) -> set[str]:
    """Returns files of `page_views` that no version references."""
    table = DeltaTable(str(warehouse / "page_views"))
    named, all_ = ({*table.vacuum(0, enforce_retention_duration=False, full=full)} for full in (False, True))
    return all_ - named
