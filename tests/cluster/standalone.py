"""A Spark standalone cluster of processes on this machine, whose workers can find no Python."""

import json
import shutil
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

from pipeline.runtime.java import find_java
from tests.support.class_archive import BRIEF_JVM
from tests.support.processes import Process
from tests.support.waiting import wait_for

SPARK_HOME = Path(pyspark.__file__).parent
HOST = "127.0.0.1"
UP_S = 90
# All that Spark's scripts, and Hadoop without its native libraries, call on a worker.
TOOLS = ("bash", "chmod", "dirname", "env", "ls", "ps", "readlink", "rm", "uname")


@dataclass(frozen=True)
class Cluster:
    """Where the master is, and the folder of each worker."""

    url: str
    workers: tuple[Path, ...]

    def executors(self) -> list[list[Path]]:
        """The logs of the executors that each worker started."""
        return [sorted(worker.glob("app-*/*/stderr")) for worker in self.workers]


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and workers of one core each; they end with the context."""
    master, page = _free_port(), _free_port()
    url = f"spark://{HOST}:{master}"
    environment = _without_python(folder)
    with ExitStack() as stack:
        command = ["master.Master", "--host", HOST, "--port", str(master), "--webui-port", str(page)]
        stack.enter_context(_daemon(folder / "master.log", environment, *command))
        wait_for(lambda: _state(page), UP_S, "the start of the master")
        homes = tuple(folder / f"worker-{number}" for number in range(workers))
        for home in homes:
            options = ["--host", HOST, "--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(home)]
            stack.enter_context(_daemon(home.with_suffix(".log"), environment, "worker.Worker", *options, url))
        wait_for(lambda: _state(page).get("aliveworkers") == workers, UP_S, "the registration of all workers")
        yield Cluster(url, homes)


def _daemon(log: Path, environment: dict[str, str], name: str, *arguments: str) -> Process:
    command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    return Process(command, log, environment)


def _without_python(folder: Path) -> dict[str, str]:
    """A worker's machine offers Java, Spark, a few tools, and a Python that is not there."""
    tools = folder / "bin"
    tools.mkdir(parents=True)
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, f"{tool} is not on PATH"
        (tools / tool).symlink_to(found)
    nowhere = "/nonexistent/python"
    return {
        "PATH": str(tools),
        "JAVA_HOME": str(find_java()),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": BRIEF_JVM,
        "SPARK_LOCAL_IP": HOST,
        "SPARK_NO_DAEMONIZE": "1",
        **dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), nowhere),
        **dict.fromkeys(("PYTHONPATH", "VIRTUAL_ENV"), "/nonexistent"),
    }


def _state(page: int) -> dict[str, Any]:
    """Returns what the master tells of itself; empty while it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{page}/json/", timeout=5) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except OSError:
        return {}


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as server:
        port: int = server.getsockname()[1]
        return port
