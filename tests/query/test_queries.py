"""Every question of docs/queries.md, in every engine, over the tables of a real service: one answer."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from duckdb_extensions import import_extension

from tests.query.more_queries import MORE, POLARS
from tests.query.page import SECTIONS, block_of
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import drawn
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of, take
from tests.support.spark_reader import SparkReader, spark_reader
from tests.support.topic_writer import Raw, event
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.reading.sql_views import views
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.schemas import result_of

pytestmark = pytest.mark.broker

QUESTIONS = [title for title in SECTIONS if title.endswith("?")]
Rows = list[tuple[Any, ...]]

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
NOON = 1_714_564_800_000
"""2024-05-01T12:00:00Z."""
REPORTS: dict[str, dict[str, Any]] = {
    "page_views": {"keys": ["user_id"]},
    "page_traffic": {"keys": ["page_url"]},
    "paths": {"keys": ["user_id", "page_url"], "measures": ["page_views", "clicks", "first_seen"]},
}
TIME = {"bound": "0s", "allowed_lateness": "1m", "idle_timeout": "1h", "max_future_skew": "1h"}


def seen(user: str, second: int, page: str, act: str = "visit", partition: int = 0) -> Raw:
    return event(user, NOON + second * 1_000, act, partition, page=page)


@pytest.fixture(scope="module")
def settings(broker: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of a warehouse with events of two days ago and of today: some in time, one too late and corrected."""
    topic = "queries"
    broker.create_topic(topic, 2, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, tmp_path_factory.mktemp("queries"), time=TIME, reports=REPORTS)
    clock = Clock(Clock.real() - 2 * DAY)
    first = [
        [seen("ann", 1, "/"), seen("ann", 20, "/shop"), seen("ann", 30, "/shop", "click"), seen("bob", 40, "/")],
        [seen("ann", 3_600, "/shop"), seen("cat", 3_605, "/", partition=1)],
    ]
    second = [
        [seen("bob", 10, "/sale"), Raw(b"no event", b"?")],
        [seen("ann", 3_700, "/"), seen("cat", 3_700, "/sale", partition=1)],
        [seen("ann", 3_655, "/sale"), seen("cat", 3_790, "/", partition=1), seen("ann", 3_790, "/")],
    ]
    with open_service(settings, now=clock) as service:
        take(service, broker, topic, first)
        clock.move(2 * DAY)
        take(service, broker, topic, second)
    apply_corrections(settings, LetterSelection())
    return settings


@pytest.fixture(scope="module")
def by_duckdb(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"extension_directory": str(tmp_path_factory.mktemp("extensions"))}) as connection:
        import_extension("delta", con=connection)
        connection.load_extension("delta")
        connection.execute("SET TimeZone = 'UTC'")
        for view in views(settings.warehouse, Engine.DUCKDB):
            for statement in view.statements(Engine.DUCKDB):
                connection.execute(statement)
        yield connection


@pytest.fixture(scope="module")
def by_spark(settings: Settings) -> SparkReader:
    names = {view.name for view in views(settings.warehouse, Engine.SPARK)}
    assert {*spark_reader().views(settings.warehouse)} == names >= {"page_views", "page_views_live", "ledger"}
    return spark_reader()


def by_polars(warehouse: str, block: str) -> Rows:
    """Runs a block after the definitions of the page; returns its answer."""
    names: dict[str, Any] = {"warehouse": warehouse, "timedelta": timedelta}
    exec(block_of("How to ask") + block, names)  # noqa: S102 - it is our own page
    rows: Rows = names["answer"].collect().rows()
    return rows


def _rows(table: pa.Table) -> Rows:
    return [tuple(row.values()) for row in table.to_pylist()]


def on_page() -> Iterator[tuple[str, str, str]]:
    """Yields each question of the page, its SQL, and the same query for polars, which the page need not have."""
    for question in QUESTIONS:
        for sql, python in re.findall(r"```sql\n(.*?)```(?:\n\n```python\n(.*?)```)?", SECTIONS[question], re.DOTALL):
            yield question, sql, python or POLARS[question]


ASKED = [
    pytest.param(sql, python, id=f"{question} {number}")
    for number, (question, sql, python) in enumerate([*on_page(), *((title, *pair) for title, pair in MORE.items())])
]


@pytest.mark.parametrize(("sql", "python"), drawn(ASKED, -(-len(ASKED) // 2)))
def test_engines_agree(
    settings: Settings, by_duckdb: duckdb.DuckDBPyConnection, by_spark: SparkReader, sql: str, python: str
) -> None:
    answer = by_polars(settings.warehouse, python)
    assert answer
    assert _rows(by_duckdb.execute(sql).to_arrow_table()) == answer
    assert _rows(by_spark.sql(sql)) == answer


def test_spark_describes_tables_and_views(settings: Settings, by_spark: SparkReader) -> None:
    about = result_of(Report("page_views", Grid(1, 1), 0)).about
    for name in (f"delta.`{settings.warehouse}/page_views`", "page_views"):
        comments = {row["col_name"]: row["comment"] for row in by_spark.sql(f"DESCRIBE {name}").to_pylist()}
        assert comments == {column: about.columns[column] for column in comments}
    for view in views(settings.warehouse, Engine.SPARK):  # as `tidemark sql --print spark` does
        for statement in view.statements(Engine.SPARK):
            by_spark.sql(statement.replace("VIEW `", "VIEW default.`", 1))
    extended = by_spark.sql("DESCRIBE EXTENDED default.page_views").to_pylist()
    assert {row["col_name"]: row["data_type"] for row in extended}["Comment"] == about.description


def test_every_time_of_a_view_is_a_timestamp(
    settings: Settings, by_duckdb: duckdb.DuckDBPyConnection, by_spark: SparkReader
) -> None:
    names = {
        "ledger": ["max_event_time", "watermark_before", "watermark", "committed_at"],
        "dead_letters": ["kafka_timestamp", "event_time", "watermark"],
        "corrections": ["corrected_at", "event_time", "window_start", "window_end", "closed_until"],
    }
    for view, columns in names.items():
        described = by_spark.sql(f"DESCRIBE {view}").to_pylist()
        assert {row["data_type"] for row in described if row["col_name"] in columns} == {"timestamp"}
        found = by_duckdb.execute(f"SELECT {', '.join(columns)} FROM {view} ").to_arrow_table()  # noqa: S608 - our own
        assert {str(field.type) for field in found.schema} == {"timestamp[us, tz=UTC]"}
        asked = by_spark.sql(f"SELECT {', '.join(columns)} FROM {view}")  # noqa: S608 - our own
        assert sorted(found.to_pylist(), key=str) == sorted(asked.to_pylist(), key=str)
    assert settings.warehouse
