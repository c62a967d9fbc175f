"""The image's entry: what Spark asks of its containers on Kubernetes, or else a `tidemark` command.

Spark starts the pod of an executor with the argument `executor` and all else in its environment, and that of a driver
that was submitted to the cluster with `driver`, options of spark-submit, a file and that file's arguments. Source:
Spark, `BasicExecutorFeatureStep` and `DriverCommandFeatureStep`.
"""

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

Command = tuple[list[str], dict[str, str]]
"""What is run, and the variables that it has besides."""


def command(arguments: Sequence[str], environment: Mapping[str, str]) -> Command:
    """What a container with these arguments does."""
    match arguments:
        case ["executor", *_]:
            return _executor(environment), {}
        case ["driver", *rest]:
            return _driver(rest, environment)
        case _:
            return ["tidemark", *arguments], {}


def _executor(environment: Mapping[str, str]) -> list[str]:
    options = [(int(name.rpartition("_")[2]), value) for name, value in environment.items() if "_JAVA_OPT_" in name]
    told = {
        "--driver-url": "SPARK_DRIVER_URL",
        "--executor-id": "SPARK_EXECUTOR_ID",
        "--cores": "SPARK_EXECUTOR_CORES",
        "--app-id": "SPARK_APPLICATION_ID",
        "--hostname": "SPARK_EXECUTOR_POD_IP",
        "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
        "--podName": "SPARK_EXECUTOR_POD_NAME",
    }
    memory = environment["SPARK_EXECUTOR_MEMORY"]
    return [
        "java",
        *(value for _, value in sorted(options)),
        *(f"-Xms{memory}", f"-Xmx{memory}"),
        *(
            "-cp",
            os.pathsep.join([*_given(environment, "SPARK_CONF_DIR", "SPARK_CLASSPATH"), f"{_spark_home()}/jars/*"]),
        ),
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        *(word for option, name in told.items() for word in (option, environment[name])),
    ]


def _driver(arguments: Sequence[str], environment: Mapping[str, str]) -> Command:
    """The service itself, told as settings what spark-submit would be told.

    So it is Python that gets the signal to stop, and finishes its batch; of spark-submit it would be Java.
    """
    file = next(place for place, word in enumerate(arguments) if word.startswith("local://"))
    conf = properties(Path(arguments[arguments.index("--properties-file") + 1]).read_text())
    conf |= {
        "spark.submit.deployMode": "client",
        "spark.driver.bindAddress": environment["SPARK_DRIVER_BIND_ADDRESS"],
    }
    settings = {"TIDEMARK_SPARK__MASTER": conf.pop("spark.master"), "TIDEMARK_SPARK__CONF": json.dumps(conf)}
    return ["tidemark", *arguments[file + 1 :]], settings


def properties(text: str) -> dict[str, str]:
    """A file of Java's properties, as Java itself writes it."""
    lines = [line for line in text.splitlines() if line and line[0] not in "#!"]
    pairs = (re.fullmatch(r"((?:\\.|[^\\=])*)=(.*)", line) for line in lines)
    return {_unescaped(pair[1]): _unescaped(pair[2]) for pair in pairs if pair}


def _unescaped(text: str) -> str:
    named = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}

    def one(escape: re.Match[str]) -> str:
        return chr(int(escape[2], 16)) if escape[2] else named.get(escape[1], escape[1])

    return re.sub(r"\\(u([0-9A-Fa-f]{4})|.)", one, text)


def _given(environment: Mapping[str, str], *names: str) -> list[str]:
    return [environment[name] for name in names if environment.get(name)]


def _spark_home() -> Path:
    found = find_spec("pyspark")
    assert found is not None  # noqa: S101 - the image has it
    assert found.origin is not None  # noqa: S101 - likewise
    return Path(found.origin).parent


if __name__ == "__main__":
    words, told = command(sys.argv[1:], os.environ)
    if sys.argv[1:2] == ["executor"]:
        # Spark copies jars to where an executor is started, and that may write to no other folder.
        os.chdir(tempfile.gettempdir())
    os.execvpe(words[0], words, {**os.environ, **told})  # noqa: S606 - that is what it is for
