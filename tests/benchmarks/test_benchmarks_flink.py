"""Flink as a contestant: its settings, the comparison with the truth file, and one small run of both jobs."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.cli import main
from benchmarks.contestants import Contestant, Job, contestants
from benchmarks.drain import Result
from benchmarks.drain_report import cpu_ratios, ratios, render
from benchmarks.errors import BenchmarkError
from benchmarks.options import parse
from benchmarks.peers.flink.check import check
from benchmarks.peers.flink.cluster import PROGRAM, drain_settings
from benchmarks.task import Drain, Reports, Task
from dev.flink import OPENS, command, compiler, locked_jars, version
from tests.setup.test_java import fake
from tests.support.processes import SMALL_DRIVER
from tidemark.pipeline.errors import SetUpError
from tidemark.producers.truth import COUNTS, Truth

MINUTE = 60_000
Row = tuple[str, int, int, int]
"""User, window start, page views, clicks."""


def truth(on_time: list[Row], too_late: list[Row]) -> Truth:
    tables = [pa.table(dict(zip(COUNTS.names, zip(*rows, strict=True), strict=True))) for rows in (on_time, too_late)]
    return Truth("t", MINUTE, {}, {}, {}, *tables)


SENT = truth(on_time=[("a", 0, 2, 0), ("b", MINUTE, 1, 1)], too_late=[("a", 0, 0, 1)])


def written(folder: Path, windows: list[Row], late: list[tuple[str, int, bool]]) -> Path:
    """Files as Flink writes them."""
    moment = pa.timestamp("ms")
    users, starts, views, clicks = zip(*windows, strict=True)
    ends = [start + MINUTE for start in starts]
    columns = [pa.array(starts, moment), pa.array(ends, moment), *map(pa.array, (users, views, clicks))]
    (folder / "page_views").mkdir(parents=True)
    names = ["window_start", "window_end", "user_id", "page_views", "clicks"]
    pq.write_table(pa.table(columns, names), folder / "page_views" / "part-1")
    (folder / "late").mkdir()
    times = pa.array([at for _, at, _ in late], moment)
    kinds = pa.array([click for *_, click in late], pa.bool_())
    users_late = pa.array([user for user, *_ in late], pa.string())
    names = ["event_time", "user_id", "click"]
    pq.write_table(pa.table([times, users_late, kinds], names), folder / "late" / "part-1")
    return folder


B: Row = ("b", MINUTE, 1, 1)


@pytest.mark.parametrize(
    ("windows", "late"),
    [
        ([("a", 0, 2, 0), B], [("a", 59_999, True)]),
        ([("a", 0, 2, 1), B], []),  # it came while its window was still open
    ],
)
def test_an_event_that_was_sent_late_is_counted_or_kept_apart(
    tmp_path: Path, windows: list[Row], late: list[tuple[str, int, bool]]
) -> None:
    found = check(written(tmp_path, windows, late), SENT, has_late_file=True)
    assert found == {"windows": 2, "counted": 5 - len(late), "late": len(late), "sent": 5}


def test_events_in_time_are_counted_where_late_events_are_dropped(tmp_path: Path) -> None:
    assert check(written(tmp_path, [("a", 0, 2, 0), B], []), SENT, has_late_file=False)["counted"] == 4


@pytest.mark.parametrize(
    ("windows", "late", "breach"),
    [
        ([("a", 0, 2, 0), ("b", MINUTE, 0, 1)], [("a", 0, True)], "every event that was sent in time"),
        ([("a", 0, 2, 0), B, ("a", MINUTE, 1, 0)], [("a", 0, True)], "no event may be counted that was not sent"),
        ([("a", 0, 2, 1), B], [("a", 0, True)], "no event may be counted that was not sent, or twice"),
        ([("a", 0, 2, 0), B], [], "no event may be lost"),
        ([("a", 0, 1, 0), ("a", 0, 1, 0), B], [("a", 0, True)], "a user has one row in a window"),
    ],
)
def test_results_that_differ_from_the_sent_events_are_refused(
    tmp_path: Path, windows: list[Row], late: list[tuple[str, int, bool]], breach: str
) -> None:
    with pytest.raises(BenchmarkError, match=breach):
        check(written(tmp_path, windows, late), SENT, has_late_file=True)


def test_the_error_for_an_unknown_job_lists_the_names_of_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(["--jobs", "ours,flink-sql,flink-datastream"]).jobs == (Job.OURS, Job.FLINK_SQL, Job.FLINK_DATASTREAM)
    with pytest.raises(SystemExit):
        parse(["--jobs", "flink"])
    assert "choose from ours, tuned, defaults, flink-sql, flink-datastream" in capsys.readouterr().err


def test_ours_is_compared_with_each_api_in_rate_and_in_cpu() -> None:
    taken = {Job.OURS: (2.0, 4.0), Job.FLINK_SQL: (1.0, 2.0), Job.FLINK_DATASTREAM: (4.0, 1.0)}
    results = [
        Result(Contestant(job, job.option), 1000, [[Drain(seconds, cpu, 5)]]) for job, (seconds, cpu) in taken.items()
    ]
    assert ratios(results) == {"flink_sql": 0.5, "flink_datastream": 2.0}
    assert cpu_ratios(results) == {"flink_sql": 2.0, "flink_datastream": 4.0}
    heads = [column.header for column in render(results, 5).columns]
    assert [head for head in heads if str(head).startswith("x ")] == ["x Flink SQL", "x Flink DataStream"]


def test_the_lock_has_one_flink_with_whole_hashes() -> None:
    jars = locked_jars()
    assert all(len(bytes.fromhex(jar.sha256)) == 32 for jar in jars)
    assert len({jar.name for jar in jars}) == len(jars)
    coordinates = [jar.coordinate.split(":") for jar in jars]
    apart = ("flink-connector-kafka", "flink-shaded")
    own = {its for group, name, its in coordinates if group == "org.apache.flink" and not name.startswith(apart)}
    assert own == {version()}


def test_flink_gets_fields_in_the_order_of_its_table_and_consumer_options_by_kafkas_names() -> None:
    found = drain_settings(Task("localhost:1", "events", 1, "/work"), "sql")
    names = [field["name"] for field in json.loads(found["readerSchema"])["fields"]]
    # Flink's Avro converter reads fields by position.
    table = (PROGRAM / "SqlJob.java").read_text().partition("CREATE TEMPORARY TABLE events (")[2]
    assert names == [*(line.split()[0] for line in table.splitlines()[1:3]), "event_time"]
    three = drain_settings(Task("localhost:1", "events", 1, "/work", reports=Reports.DEFAULT), "sql")
    assert [field["name"] for field in json.loads(three["readerSchema"])["fields"]] == [*names, "page_url"]
    assert [*three["keys"].values()] == ["user_id", "page_url", ""]
    eight = drain_settings(Task("localhost:1", "events", 1, "/work", reports=Reports.ALL_KEYS), "sql")
    assert len({*eight["keys"].values()}) == len(eight["keys"]) == 8
    assert found["consumer"]["bootstrap.servers"] == "localhost:1"
    assert not [name for name in found["consumer"] if name.startswith("kafka")]


def test_with_an_interval_of_checkpoints_the_topic_is_unbounded_and_windows_are_those_of_the_task() -> None:
    task = Task("localhost:1", "events", 1, "/work", window={"size": "1s"})
    names = ("bounded", "window", "checkpointInterval")
    assert [drain_settings(task, "datastream", 10_000)[name] for name in names] == [False, 1_000, 10_000]
    assert [drain_settings(replace(task, window={}), "sql")[name] for name in names] == [True, MINUTE, 5_000]


def test_a_program_of_flink_is_started_by_the_java_that_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = fake(tmp_path / "jdk", "17")
    monkeypatch.setenv("JAVA_HOME", str(home))
    found = command("classes:a.jar", "drains.Main", ["-Xmx1g"])
    assert found == [str(home / "bin" / "java"), *OPENS, "-Xmx1g", "-cp", "classes:a.jar", "drains.Main"]


@pytest.mark.parametrize("part", ["drain", "freshness-flink"])
def test_without_a_compiler_nothing_is_drained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], part: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake(tmp_path / "jre", "17")))
    assert main(["--only", part, "--keep", str(tmp_path / "broker")], tmp_path) == 2
    error = capsys.readouterr().err
    assert "Flink needs a JDK" in error
    assert "--jobs ours,tuned,defaults" in error
    assert not (tmp_path / "broker").exists()


@pytest.mark.jvm
@pytest.mark.broker
@pytest.mark.nightly
def test_each_of_flinks_jobs_counts_what_was_sent(tmp_path: Path) -> None:
    try:
        compiler()
    except SetUpError as error:
        pytest.skip(str(error))
    # Flink moves its watermark every 200 ms: of fewer events it would have read all before any is late.
    jobs = ["--jobs", "flink-sql,flink-datastream", "--events", "200000", "--drains", "2"]
    jobs += ["--repeat", "1", "--backlog-users", "50000"]
    assert main(["--only", "drain", *jobs], tmp_path) == 0
    document = json.loads(next(tmp_path.glob("*.json")).read_text())
    found = {entry["title"]: entry["rounds"] for entry in document["drain"]["50000"]["contestants"]}
    assert len(found) == len(contestants([Job.FLINK_SQL, Job.FLINK_DATASTREAM], (), ()))
    sent = [drain["notes"]["totals"]["sent"] for [drains] in found.values() for drain in drains]
    assert sent == [200_000] * 2 * len(found)
    [sql], [datastream] = (found[name] for name in ("Flink, SQL", "Flink, DataStream"))
    assert sql[0]["notes"]["late_rows_dropped"] > 0
    assert datastream[0]["notes"]["totals"]["late"] > 0
    assert datastream[0]["notes"]["late_rows_dropped"] == 0


@pytest.mark.jvm
@pytest.mark.broker
@pytest.mark.nightly
def test_both_systems_show_exactly_the_events_of_each_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        compiler()
    except SetUpError as error:
        pytest.skip(str(error))
    for name, value in SMALL_DRIVER.items():
        monkeypatch.setenv(name, value)
    load = "--rate 1000 --users 500 --warm-up 5s --duration 5s --slice 5s --our-intervals 500ms --checkpoints 1s"
    assert main(["--only", "freshness-flink", *load.split()], tmp_path) == 0
    found = json.loads(next(tmp_path.glob("*.json")).read_text())["freshness-flink"]
    assert list(found) == [
        "Tidemark, batch.interval 0.5 s",
        "Tidemark, batch.interval 0.5 s, three reports",
        "Flink, DataStream, checkpoints every 1 s",
        "Flink, SQL, checkpoints every 1 s, three windows",
    ]
    for figures in found.values():
        assert 3 <= figures["windows"] <= 7
        assert 0 < figures["median_ms"] <= figures["p99_ms"]
        assert figures["cpu_s"] > 0
