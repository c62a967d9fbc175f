"""The service runs under a user id that has no entry in passwd, as containers of OpenShift do."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.processes import SMALL_DRIVER, Process
from tests.support.warehouse import records
from tidemark.pipeline.runtime.jars import cache
from tidemark.producers.cli import main as produce

pytestmark = [pytest.mark.broker, pytest.mark.jvm, pytest.mark.long]

AS_ANOTHER = (shutil.which("unshare") or "", "--user", "--map-user=12345", "--map-group=12345")
EVENTS = 300


@pytest.mark.parametrize("home", ["", pytest.param("home", marks=pytest.mark.nightly)])
def test_the_service_runs_without_an_account(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, home: str
) -> None:
    if not AS_ANOTHER[0] or subprocess.run([*AS_ANOTHER, "true"], check=False).returncode:
        pytest.skip("no user namespaces")
    where = ["--bootstrap-servers", broker.bootstrap_servers, "--topic", make_topic(partitions=1)]
    assert produce(["simulate", *where, "--rate", "0", "--events", str(EVENTS)]) == 0
    warehouse = tmp_path / "warehouse"
    of_home = [f"HOME={tmp_path}"] if home else ["-u", "HOME"]
    service = [
        sys.executable,
        "-m",
        "tidemark.pipeline.cli",
        "run",
        *where,
        "--warehouse",
        str(warehouse),
        "--until-caught-up",
    ]
    environment = SMALL_DRIVER | {"TIDEMARK_JARS_CACHE": str(cache())}
    with Process([*AS_ANOTHER, "env", *of_home, *service], tmp_path / "log", environment) as life:
        assert life.wait() == 0, life.said
    assert records(warehouse) == EVENTS
    assert_conserved(warehouse)
