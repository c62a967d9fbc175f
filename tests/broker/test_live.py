"""The live view: the published windows and the open ones so far, and what each row is, whoever reads it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from duckdb_extensions import import_extension
from pyspark.sql import SparkSession

from pipeline.app import open_service
from pipeline.cli import main
from pipeline.errors import SetUpError
from pipeline.late import Chosen, apply_corrections
from pipeline.live import live_view
from pipeline.settings import Settings
from pipeline.tables.live import Engine
from tests.kafka_cluster import Cluster
from tests.services import ANY_TIMESTAMP, Clock, settings_of
from tests.topic_writer import event, send
from tests.warehouse import milliseconds

REPORTS: dict[str, dict[str, Any]] = {
    "page_views": {"keys": ["user_id"]},
    "sliding": {"window": {"size": "10s", "slide": "5s"}},
    "visitors": {"measures": ["unique_users"], "window": {"size": "20s"}},
    "sessions": {"keys": ["user_id"], "window": {"gap": "5s"}},
}
TIME = {"bound": "0s", "allowed_lateness": "10s", "idle_timeout": "1h", "max_future_skew": "1h"}
Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def settings(broker: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The watermark stands at 42 s: [10, 20) is corrected, [20, 30) closed, [30, 40) fired, [40, 50) open."""
    topic = "live"
    broker.create_topic(topic, 1, **ANY_TIMESTAMP)
    settings = settings_of(
        broker, topic, tmp_path_factory.mktemp("live"), time=TIME, window={"size": "10s"}, reports=REPORTS
    )
    steps = [
        [event("ann", 12_000), event("ann", 25_000), event("ann", 33_000)],
        [event("bob", 41_000, "click"), event("bob", 42_000)],
        [event("ann", 13_000)],
    ]
    with open_service(settings, now=Clock()) as service:
        for step in steps:
            send(broker.bootstrap_servers, topic, step)
            service.drain()
    apply_corrections(settings, Chosen())
    return settings


EXPECTED = {
    ("ann", 10_000, 2, 0, "corrected"),
    ("ann", 20_000, 1, 0, "closed"),
    ("ann", 30_000, 1, 0, "fired"),
    ("bob", 40_000, 1, 1, "open"),
}


def of_users(rows: list[dict[str, Any]]) -> set[Row]:
    names = ("page_views", "clicks", "state")
    return {(row["user_id"], milliseconds(row["window_start"]), *(row[name] for name in names)) for row in rows}


def by_delta_rs(settings: Settings, report: str) -> list[dict[str, Any]]:
    query = QueryBuilder()
    for name in (report, "panes", "ledger", "corrections"):
        query = query.register(name, DeltaTable(f"{settings.warehouse}/{name}"))
    rows: list[dict[str, Any]] = pa.table(
        query.execute(live_view(settings.warehouse, report, Engine.DELTA_RS))
    ).to_pylist()
    return rows


@contextmanager
def duckdb_with_delta(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB with its extension `delta` as PyPI has it, which it would fetch from elsewhere when it is first used."""
    with duckdb.connect(config={"extension_directory": str(folder)}) as connection:
        import_extension("delta", con=connection)
        connection.load_extension("delta")
        yield connection


def test_delta_rs_reads_it_without_spark(settings: Settings) -> None:
    assert of_users(by_delta_rs(settings, "page_views")) == EXPECTED


def test_spark_sql_reads_it(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    spark = SparkSession.getActiveSession()
    assert spark is not None
    assert main(["live", "--warehouse", settings.warehouse]) == 0
    spark.sql(capsys.readouterr().out)
    rows = spark.sql("SELECT * FROM page_views_live").toArrow().to_pylist()
    assert of_users(rows) == EXPECTED


def test_duckdb_reads_it(settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["live", "--warehouse", settings.warehouse, "--engine", "duckdb"]) == 0
    with duckdb_with_delta(tmp_path) as connection:
        connection.execute(capsys.readouterr().out)
        rows = connection.sql("SELECT * FROM page_views_live").to_arrow_table().to_pylist()
    assert of_users(rows) == EXPECTED


def test_windows_that_slide_are_open_side_by_side(settings: Settings) -> None:
    rows = by_delta_rs(settings, "sliding")
    found = {
        (milliseconds(row["window_start"]), row["page_views"], row["clicks"]) for row in rows if row["state"] == "open"
    }
    assert found == {(35_000, 1, 1), (40_000, 1, 1)}


def test_different_users_are_counted_once(settings: Settings) -> None:
    found = {(milliseconds(row["window_start"]), row["unique_users"]) for row in by_delta_rs(settings, "visitors")}
    assert found == {(0, 1), (20_000, 1), (40_000, None)}


@pytest.mark.parametrize(("report", "said"), [("sessions", "no fixed length"), ("nothing", "has no report nothing")])
def test_what_has_no_live_view_is_told(settings: Settings, report: str, said: str) -> None:
    with pytest.raises(SetUpError, match=said):
        live_view(settings.warehouse, report, Engine.SPARK)
