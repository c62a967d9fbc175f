"""Spark as we start it: who may reach it, what other users of the machine see of it, and what a kill leaves behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.runtime import scratch
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.sockets import family, listening

pytestmark = pytest.mark.jvm
MARK = "hunter2bqkz"
SECRETS = {
    "spark.hadoop.fs.azure.account.key.x": MARK,
    "spark.hadoop.fs.gs.auth.service.account.private.key": MARK,
    "spark.hadoop.fs.s3a.encryption.key": MARK,
    "spark.made.up.by.a.plugin": MARK,
}
ROOT = Path(__file__).parents[2]


class Spark:
    """A process that has started Spark, and what it said of itself."""

    def __init__(self, popen: "subprocess.Popen[str]", temporary: Path) -> None:
        assert popen.stdout is not None
        self.popen, self.temporary = popen, temporary
        self.seen: dict[str, Any] = json.loads(popen.stdout.readline())


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    folder = tmp_path_factory.mktemp("spark")
    (folder / "conf.json").write_text(json.dumps({**BRIEF_DRIVER, **SECRETS}))
    (folder / "tmp").mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.security.spark_process", str(folder / "conf.json")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder / "tmp")},
    ) as process:
        try:
            yield Spark(process, folder / "tmp")
        finally:
            process.kill()


def test_it_listens_on_the_loopback_address_alone(spark: Spark) -> None:
    found = listening(*family(spark.popen.pid))
    assert len(found) >= 2, "the RPC port and that of blocks are seen"
    assert {address.host for address in found} <= {"127.0.0.1", "::1"}


def test_no_secret_is_an_argument_whatever_its_name(spark: Spark) -> None:
    arguments = "".join(Path(f"/proc/{pid}/cmdline").read_text() for pid in family(spark.popen.pid))
    assert "spark.driver.memory=1g" in arguments
    assert MARK not in arguments


def test_no_secret_is_in_what_set_shows(spark: Spark) -> None:
    shown = json.dumps(spark.seen["set"])
    assert "spark.driver.memory" in shown
    assert MARK not in shown
    assert "fs.azure" not in shown
    assert spark.seen["hadoop"] == MARK, "Hadoop's clients have it"


def test_no_other_user_can_read_its_scratch_files_which_go_with_the_next_start(spark: Spark) -> None:
    (own,) = spark.temporary.glob("tidemark-*")
    assert own.stat().st_mode & 0o777 == 0o700
    for place in (spark.seen["blocks"], *spark.seen["temporary"]):
        assert Path(place).is_relative_to(own)
    scratch.remove_abandoned(spark.temporary)
    assert own.exists(), "its process is alive"
    for pid in family(spark.popen.pid):
        os.kill(pid, signal.SIGKILL)
    spark.popen.wait()
    assert [*own.glob("blockmgr-*")], "a kill leaves them behind"
    scratch.remove_abandoned(spark.temporary)
    assert not own.exists()
