"""A Spark cluster whose workers have Java, Spark and a few tools, but no Python."""

import shutil
from contextlib import AbstractContextManager
from pathlib import Path

from demo.standalone import Cluster, standalone_cluster
from tests.support.brief_java import BRIEF_JVM

# All that Spark's scripts, and Hadoop without its native libraries, call on a worker.
TOOLS = ("bash", "chmod", "dirname", "env", "ls", "ps", "readlink", "rm", "uname")


def cluster_without_python(folder: Path, workers: int = 2) -> AbstractContextManager[Cluster]:
    """A master and workers of one core each; they end with the context."""
    tools = folder / "bin"
    tools.mkdir(parents=True)
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, f"{tool} is not on PATH"
        (tools / tool).symlink_to(found)
    environment = {
        "PATH": str(tools),
        "SPARK_DAEMON_JAVA_OPTS": BRIEF_JVM,
        **dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), "/nonexistent/python"),
        **dict.fromkeys(("PYTHONPATH", "VIRTUAL_ENV"), "/nonexistent"),
    }
    return standalone_cluster(folder, workers, environment=environment)


def executors_of(cluster: Cluster) -> list[int]:
    """Returns the process ids of the executors."""
    return [int(link.parent.name) for link in Path("/proc").glob("[0-9]*/cwd") if _is_in(link, cluster.workers)]


def _is_in(link: Path, homes: tuple[Path, ...]) -> bool:
    """Whether a process works in the folder of an application."""
    try:
        place = link.readlink()
    except OSError:  # it has ended, or belongs to another user
        return False
    return any(place.is_relative_to(home.resolve()) and place != home.resolve() for home in homes)
