"""The job on a Spark cluster, submitted as `deploy/spark-submit/README.md` describes."""

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from demo.standalone import CLOSED, HOST
from producers.cli import main as produce
from producers.truth import Truth
from tests.cluster.standalone import cluster_without_python
from tests.support.against_truth import assert_matches_truth
from tests.support.brief_java import BRIEF_JVM
from tests.support.kafka_cluster import Cluster as Kafka
from tests.support.processes import Process
from tests.support.waiting import wait_for
from tests.support.warehouse import records

SUBMIT = Path(__file__).parents[2] / "deploy" / "spark-submit" / "submit.sh"
EVENTS = 20_000
CAUGHT_UP_S = 240
# One malformed value in 25 claims a string of two gigabytes: an executor without the Avro limits would die of it.
DISORDER = (
    *("--rate", "0", "--events", str(EVENTS), "--event-rate", "500", "--users", "200", "--jitter", "1s"),
    *("--late-share", "0.02", "--late-after", "20s", "--future-share", "0.01", "--malformed-share", "0.04"),
)
RULES = (
    *("--window.size", "5s", "--time.bound", "2s", "--time.allowed-lateness", "3s"),
    *("--batch.max-records", "8000", "--metrics.port", "0"),
)


@pytest.mark.long
def test_a_submitted_job_runs_on_workers_without_python_and_stops_in_order(
    broker: Kafka, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", make_topic(partitions=4))
    truth, warehouse = tmp_path / "truth.json", tmp_path / "warehouse"
    assert produce(["simulate", *where, *DISORDER, "--truth", str(truth), "--truth-window", "5s"]) == 0
    with cluster_without_python(tmp_path / "cluster") as cluster:
        with submitted(tmp_path / "job.log", cluster.url, *where, "--warehouse", str(warehouse)) as job:
            wait_for(lambda: not job.alive or records(warehouse) == EVENTS, CAUGHT_UP_S, "the reading of all events")
            assert job.alive, job.said
            job.send(signal.SIGTERM)
            assert job.wait() == 0, job.said
        executors = cluster.executors()
    assert_matches_truth(warehouse, Truth.load(truth))
    assert [len(each) for each in executors] == [1, 1], "each worker has one executor, and none of them died"
    assert all([*log.parent.glob("hadoop-aws-*.jar")] for (log,) in executors), "executors have the jars of both sets"


def submitted(log: Path, master: str, *where: str) -> Process:
    """The job, by the script that users are given."""
    environment = {"MASTER": master, "PYTHON": sys.executable, "CORES": "2", "JARS": "spark s3", "SPARK_LOCAL_IP": HOST}
    spark = ("--driver-memory", "1g", "--executor-memory", "600m", "--conf", f"spark.driver.host={HOST}")
    closed = [word for name, value in CLOSED.items() for word in ("--conf", f"{name}={value}")]
    brief = [f"--conf=spark.{each}.defaultJavaOptions={BRIEF_JVM}" for each in ("driver", "executor")]
    return Process([str(SUBMIT), *spark, *closed, *brief, "--", "run", *where, *RULES], log, environment)
