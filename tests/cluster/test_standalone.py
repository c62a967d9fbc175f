"""The job on a Spark cluster, submitted as `docs/deploying.md` describes."""

import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from demo.standalone import CLOSED, HOST
from tests.cluster.standalone import cluster_without_python, executors_of
from tests.object_store.test_lives import LARGE, WAREHOUSE, await_commits
from tests.support.against_truth import assert_matches_truth
from tests.support.brief_java import BRIEF_JVM
from tests.support.kafka_cluster import Cluster as Kafka
from tests.support.object_store import object_store
from tests.support.processes import Process
from tests.support.seeds import SEED, in_turn
from tests.support.waiting import wait_for
from tests.support.warehouse import records
from tidemark.pipeline.tables.large import FOLDER
from tidemark.producers.cli import main as produce
from tidemark.producers.truth import Truth

pytestmark = pytest.mark.broker

SUBMIT = Path(__file__).parents[2] / "deploy" / "spark-submit" / "submit.sh"
EVENTS = 20_000
PATIENCE_S = 600
# One malformed value in 25 claims a string of two gigabytes: an executor without the Avro limits would die of it.
DISORDER = (
    *("--rate", "0", "--events", str(EVENTS), "--event-rate", "500", "--users", "200", "--jitter", "1s"),
    *("--late-share", "0.02", "--late-after", "20s", "--future-share", "0.01", "--malformed-share", "0.04"),
)
RULES = (
    *("--window.size", "5s", "--time.bound", "2s", "--time.allowed-lateness", "3s"),
    *("--batch.max-records", "4000", "--metrics.port", "0"),
)


@pytest.mark.long
@in_turn(2, 4)
def test_a_submitted_job_that_loses_an_executor_writes_into_an_object_store_and_stops_in_order(
    broker: Kafka, make_topic: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, truth = sent(broker, make_topic(partitions=4), tmp_path)
    chance = random.Random(SEED)
    with cluster_without_python(tmp_path / "cluster") as cluster, object_store(tmp_path / "store") as store:
        # The workers have started without credentials.
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        store.make_bucket("tidemark")
        with submitted(tmp_path / "job.log", cluster.url, *where, "--warehouse", WAREHOUSE, *LARGE) as job:
            await_commits(job, 2)
            assert job.lives_for(chance.uniform(0, 1)), job.said
            os.kill(chance.choice(wait_for(lambda: executors_of(cluster), PATIENCE_S, "an executor")), signal.SIGKILL)
            wait_for(lambda: sum(map(len, cluster.executors())) == 3, PATIENCE_S, "another executor")
            stop_when_all_is_read(job, WAREHOUSE)
        executors = cluster.executors()
        assert_matches_truth(WAREHOUSE, truth)
        assert any(f"/{FOLDER}/" in path for path in DeltaTable(f"{WAREHOUSE}/page_views").file_uris())
    assert {"job=write_ahead", "job=publication"} <= {*job.said.split()}
    assert sorted(map(len, executors)) == [1, 2], "none but the killed executor died"
    assert all(any(with_jars(log) for log in logs) for logs in executors), "executors have the jars of both sets"


@pytest.mark.nightly  # a sample is the play above: its driver commits, too
def test_a_submitted_job_whose_driver_writes_runs_on_workers_without_python_and_stops_in_order(
    broker: Kafka, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    where, truth = sent(broker, make_topic(partitions=4), tmp_path)
    warehouse = str(tmp_path / "warehouse")
    with cluster_without_python(tmp_path / "cluster") as cluster:
        with submitted(tmp_path / "job.log", cluster.url, *where, "--warehouse", warehouse) as job:
            stop_when_all_is_read(job, warehouse)
        executors = cluster.executors()
    assert_matches_truth(warehouse, truth)
    assert [len(each) for each in executors] == [1, 1], "each worker has one executor, and none of them died"
    assert all(with_jars(log) for (log,) in executors), "executors have the jars of both sets"


def sent(broker: Kafka, topic: str, folder: Path) -> tuple[tuple[str, ...], Truth]:
    """Fills a topic; returns the options that name it, and what was sent."""
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", topic)
    assert produce(["simulate", *where, *DISORDER, "--truth", str(folder / "truth.json"), "--truth-window", "5s"]) == 0
    return where, Truth.load(folder / "truth.json")


def stop_when_all_is_read(job: Process, warehouse: str) -> None:
    """Waits until all events are committed, and stops the job."""
    wait_for(lambda: not job.alive or records(warehouse) == EVENTS, PATIENCE_S, "the reading of all events")
    assert job.alive, job.said
    job.send(signal.SIGTERM)
    assert job.wait(PATIENCE_S) == 0, job.said


def with_jars(log: Path) -> bool:
    """Returns whether an executor has Hadoop's client of S3; `log` is its own."""
    return any(log.parent.glob("hadoop-aws-*.jar"))


def submitted(log: Path, master: str, *where: str) -> Process:
    """The job, by the script that users are given."""
    environment = {"MASTER": master, "PYTHON": sys.executable, "CORES": "2", "JARS": "spark s3", "SPARK_LOCAL_IP": HOST}
    spark = ("--driver-memory", "1g", "--executor-memory", "600m", "--conf", f"spark.driver.host={HOST}")
    closed = [word for name, value in CLOSED.items() for word in ("--conf", f"{name}={value}")]
    brief = [f"--conf=spark.{each}.defaultJavaOptions={BRIEF_JVM}" for each in ("driver", "executor")]
    brief.append("--conf=spark.hadoop.fs.s3a.path.style.access=true")
    return Process([str(SUBMIT), *spark, *closed, *brief, "--", "run", *where, *RULES], log, environment)
