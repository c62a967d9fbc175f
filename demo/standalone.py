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
from pipeline.errors import TidemarkError
from pipeline.runtime.java import find_java

SPARK_HOME: Final = Path(pyspark.__file__).parent
HOST: Final = "127.0.0.1"
SECRET: Final = "of-this-machine-alone-and-of-no-other"  # noqa: S105 - nothing but demos and tests has it
CLOSED: Final = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": SECRET,
    "spark.network.crypto.enabled": "true",
}
"""By which master, workers, drivers and executors know each other."""
_UP_S: Final = 90.0
_PAUSE_S: Final = 0.1


@dataclass(frozen=True)
class Cluster:
    """Where the master is, and the folder of each worker."""

    url: str
    workers: tuple[Path, ...]
    page: int
    """The port of the master's page."""

    def applications(self) -> list[str]:
        """The ids that the master has drawn for drivers at work."""
        return [one["id"] for one in _state(self.page).get("activeapps", [])]

    def executors(self) -> list[list[Path]]:
        """The logs of the executors that each worker started."""
        return [sorted(worker.glob("app-*/*/stderr")) for worker in self.workers]


@contextmanager
def standalone_cluster(
    folder: Path, workers: int, memory: str = "1g", environment: Mapping[str, str] | None = None
) -> Iterator[Cluster]:
    """A cluster that ends with the context; `memory` is what each worker has for executors.

    Raises TidemarkError if it does not come up.
    """
    folder.mkdir(parents=True, exist_ok=True)
    told = {
        "JAVA_HOME": str(find_java()),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_IP": HOST,
        "SPARK_NO_DAEMONIZE": "1",
        **(environment or {}),
    }
    told["SPARK_DAEMON_JAVA_OPTS"] = " ".join(
        [told.get("SPARK_DAEMON_JAVA_OPTS", ""), *(f"-D{name}={value}" for name, value in CLOSED.items())]
    )
    port, page = free_port(), free_port()
    url = f"spark://{HOST}:{port}"
    homes = tuple(folder / f"worker-{number}" for number in range(workers))
    offered = ("--cores", "1", "--memory", memory)
    with ExitStack() as stack:

        def start(name: str, role: str, *options: str) -> Child:
            command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", "--host", HOST]
            return stack.enter_context(child(name, [*command, *options], folder, told))

        master = start("master", "master.Master", "--port", str(port), "--webui-port", str(page))
        _wait_until(lambda: bool(_state(page)), [master])
        started = [
            start(home.name, "worker.Worker", "--webui-port", "0", *offered, "--work-dir", str(home), url)
            for home in homes
        ]
        _wait_until(lambda: _state(page).get("aliveworkers") == workers, [master, *started])
        yield Cluster(url, homes, page)


def _wait_until(up: Callable[[], bool], children: list[Child]) -> None:
    """Raises TidemarkError if one of them ends before, or the time does."""
    deadline = time.monotonic() + _UP_S
    while not up():
        for each in children:
            each.check()
        if time.monotonic() > deadline:
            raise TidemarkError(f"Spark's cluster did not come up within {_UP_S:g} s: see {children[-1].log}")
        time.sleep(_PAUSE_S)


def _state(page: int) -> dict[str, Any]:
    """Returns what the master tells of itself; empty while it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{page}/json/", timeout=5) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except OSError:
        return {}
