"""The image's entrypoint: an executor or a driver of Spark on Kubernetes, or else a `tidemark` or `producers` command.

Spark starts the pod of an executor with the argument `executor` and the parameters in its environment. It starts the
pod of a driver that was submitted to the cluster with the argument `driver`, options of spark-submit, a file and that
file's arguments. Source: Spark, `BasicExecutorFeatureStep` and `DriverCommandFeatureStep`.

The argument `hold` before a command is for Docker: `hold.py` says what it does.
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
"""A command line and its additional environment variables."""


def command(arguments: Sequence[str], environment: Mapping[str, str]) -> Command:
    """Returns the command that a container with these arguments runs."""
    match arguments:
        case ["executor", *_]:
            return _executor(environment), {}
        case ["driver", *rest]:
            return _driver(rest, environment)
        case ["hold", *rest]:
            words, settings = command(rest, environment)
            return [sys.executable, str(Path(__file__).with_name("hold.py")), *words], settings
        case ["producers", *_]:
            return list(arguments), {}
        case _:
            return ["tidemark", *arguments], {}


def _executor(environment: Mapping[str, str]) -> list[str]:
    options = [(int(name.rpartition("_")[2]), value) for name, value in environment.items() if "_JAVA_OPT_" in name]
    variables = {
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
        *(word for option, name in variables.items() for word in (option, environment[name])),
    ]


def _driver(arguments: Sequence[str], environment: Mapping[str, str]) -> Command:
    """Returns the command of the service, with the options of spark-submit as settings.

    So Python receives SIGTERM and finishes its batch; with spark-submit Java would receive it.
    """
    file = next(index for index, word in enumerate(arguments) if word.startswith("local://"))
    conf = properties(Path(arguments[arguments.index("--properties-file") + 1]).read_text())
    conf |= {
        "spark.submit.deployMode": "client",
        "spark.driver.bindAddress": environment["SPARK_DRIVER_BIND_ADDRESS"],
    }
    settings = {"TIDEMARK_SPARK__MASTER": conf.pop("spark.master"), "TIDEMARK_SPARK__CONF": json.dumps(conf)}
    return ["tidemark", *arguments[file + 1 :]], settings


def properties(text: str) -> dict[str, str]:
    """Parses a properties file as written by Java."""
    lines = [line for line in text.splitlines() if line and line[0] not in "#!"]
    pairs = (re.fullmatch(r"((?:\\.|[^\\=])*)=(.*)", line) for line in lines)
    return {_unescaped(pair[1]): _unescaped(pair[2]) for pair in pairs if pair}


def _unescaped(text: str) -> str:
    named = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}

    def replacement(escape: re.Match[str]) -> str:
        return chr(int(escape[2], 16)) if escape[2] else named.get(escape[1], escape[1])

    return re.sub(r"\\(u([0-9A-Fa-f]{4})|.)", replacement, text)


def _given(environment: Mapping[str, str], *names: str) -> list[str]:
    return [environment[name] for name in names if environment.get(name)]


def _spark_home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None  # noqa: S101 - the image has it
    assert spec.origin is not None  # noqa: S101 - it is a package
    return Path(spec.origin).parent


if __name__ == "__main__":
    words, variables = command(sys.argv[1:], os.environ)
    if sys.argv[1:2] == ["executor"]:
        # Spark copies jars into the working directory, and an executor may write to no other folder.
        os.chdir(tempfile.gettempdir())
    os.execvpe(words[0], words, {**os.environ, **variables})  # noqa: S606 - replacing this process is the purpose
