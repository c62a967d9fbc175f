"""A Spark standalone cluster of processes on this machine: a master, and workers of one core each."""

import json
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyspark

from demo.children import Child, child, free_port
from tidemark.pipeline.errors import TidemarkError
from tidemark.pipeline.runtime.java import find_java

SPARK_HOME: Final = Path(pyspark.__file__).parent
HOST: Final = "127.0.0.1"
SECRET: Final = "of-this-machine-alone-and-of-no-other"  # noqa: S105 - used by demos and tests only
CLOSED: Final = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": SECRET,
    "spark.network.crypto.enabled": "true",
}
"""Settings that authenticate master, workers, drivers and executors to each other."""
_UP_S: Final = 300.0
_PAUSE_S: Final = 0.1


@dataclass(frozen=True)
class Cluster:
    """The URL of the master, and the folder of each worker."""

    url: str
    workers: tuple[Path, ...]
    page: int
    """Port of the master's web page."""

    def applications(self) -> list[str]:
        """Returns the ids of the running applications."""
        return [application["id"] for application in _state(self.page).get("activeapps", [])]

    def executors(self) -> list[list[Path]]:
        """Returns the logs of the executors of each worker."""
        return [sorted(worker.glob("app-*/*/stderr")) for worker in self.workers]


@contextmanager
def standalone_cluster(
    folder: Path, workers: int, memory: str = "1g", environment: Mapping[str, str] | None = None
) -> Iterator[Cluster]:
    """Runs a cluster within the context; each worker has `memory` for its executors.

    Raises TidemarkError if the cluster does not start in time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    variables = {
        "JAVA_HOME": str(find_java()),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_IP": HOST,
        "SPARK_NO_DAEMONIZE": "1",
        **(environment or {}),
    }
    variables["SPARK_DAEMON_JAVA_OPTS"] = " ".join(
        [variables.get("SPARK_DAEMON_JAVA_OPTS", ""), *(f"-D{name}={value}" for name, value in CLOSED.items())]
    )
    port, page = free_port(), free_port()
    url = f"spark://{HOST}:{port}"
    homes = tuple(folder / f"worker-{worker}" for worker in range(workers))
    offered = ("--cores", "1", "--memory", memory)
    with ExitStack() as stack:

        def start(name: str, role: str, *options: str) -> Child:
            command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", "--host", HOST]
            return stack.enter_context(child(name, [*command, *options], folder, variables))

        master = start("master", "master.Master", "--port", str(port), "--webui-port", str(page))
        _wait_until(lambda: bool(_state(page)), [master])
        started = [
            start(home.name, "worker.Worker", "--webui-port", "0", *offered, "--work-dir", str(home), url)
            for home in homes
        ]
        _wait_until(lambda: _state(page).get("aliveworkers") == workers, [master, *started])
        yield Cluster(url, homes, page)


def _wait_until(up: Callable[[], bool], children: list[Child]) -> None:
    """Waits until `up()`. Raises TidemarkError if a child ends before, or after `_UP_S`."""
    deadline = time.monotonic() + _UP_S
    while not up():
        for running in children:
            running.check()
        if time.monotonic() > deadline:
            raise TidemarkError(f"Spark's cluster did not start within {_UP_S:g} s: see {children[-1].log}")
        time.sleep(_PAUSE_S)


def _state(page: int) -> dict[str, Any]:
    """Returns the state that the master reports; empty while it does not answer, or answers that it starts."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{page}/json/", timeout=5) as response:
            state: dict[str, Any] = json.load(response)
            return state
    except (OSError, ValueError):  # until its page is complete, it answers in HTML
        return {}
