"""Spark as we start it: who may reach it, what other users of the machine see, and what remains after a kill."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.sockets import family, listening
from tidemark.pipeline.runtime import scratch

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
        self.popen, self.temporary, self.local = popen, temporary, temporary.with_name("local")
        self.seen: dict[str, Any] = json.loads(popen.stdout.readline())


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    folder = tmp_path_factory.mktemp("spark")
    local = {"spark.local.dir": str(folder / "local")}
    (folder / "conf.json").write_text(json.dumps({**BRIEF_DRIVER, **SECRETS, **local}))
    for name in ("tmp", "local"):
        (folder / name).mkdir()
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
    (own,), (blocks,) = spark.temporary.iterdir(), spark.local.iterdir()
    assert {folder.stat().st_mode & 0o777 for folder in (own, blocks)} == {0o700}
    assert Path(spark.seen["blocks"]).is_relative_to(blocks)
    assert all(Path(folder).is_relative_to(own) for folder in spark.seen["temporary"])
    scratch.remove_abandoned(spark.local)
    assert blocks.exists(), "its process is alive"
    for pid in family(spark.popen.pid):
        os.kill(pid, signal.SIGKILL)
    spark.popen.wait()
    assert [*blocks.glob("blockmgr-*")], "a kill leaves them behind"
    for folder in (spark.temporary, spark.local):
        scratch.remove_abandoned(folder)
        assert [*folder.iterdir()] == []
