"""Flink on a mini-cluster, in a JVM that is reused, so that later drains are warm."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks.errors import BenchmarkError
from benchmarks.peers.own_schemas import writer_and_reader_schema
from benchmarks.task import Task
from demo.die_with_parent import dying_with_parent
from dev.flink import command, compiled, compiler, flink_jars
from tidemark.command_line.times import duration_ms
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.kafka.clients import consumer_options
from tidemark.pipeline.runtime.limits import cores, heap
from tidemark.pipeline.runtime.spark import JVM_OPTIONS
from tidemark.pipeline.settings.model import KafkaSettings

Api = Literal["sql", "datastream"]
PROGRAM: Final = Path(__file__).with_name("drains")
BOUND_MS: Final = 10_000
WINDOW_MS: Final = 60_000
CHECKPOINT_INTERVAL_MS: Final = 5_000
_READY: Final = "READY"
_DONE: Final = "DONE "
_CONSUMER: Final = "kafka."


def drain_settings(task: Task, api: Api, checkpoint_ms: int | None = None, more: Iterable[str] = ()) -> dict[str, Any]:
    """Returns the fields of `drains/DrainSettings.java`. Consumer options and projection are Tidemark's own.

    With `checkpoint_ms`, the interval of its checkpoints, the job does not end at the end of the topic. The fields
    `more` are read in addition to those that the results need.
    """
    kafka = KafkaSettings(bootstrap_servers=task.bootstrap_servers, topic=task.topic)
    options = consumer_options(kafka)
    writer, reader = writer_and_reader_schema(chain(*task.keys.values(), more))
    return {
        "job": api,
        "format": task.format,
        "keys": {name: ",".join(keys) for name, keys in task.keys.items()},
        "topic": task.topic,
        "consumer": {k.removeprefix(_CONSUMER): v for k, v in options.items() if k.startswith(_CONSUMER)},
        "writerSchema": writer,
        "readerSchema": reader,
        "cores": cores(),
        "bound": BOUND_MS,
        "window": duration_ms(task.window["size"]) if task.window else WINDOW_MS,
        "checkpointInterval": checkpoint_ms or CHECKPOINT_INTERVAL_MS,
        "bounded": checkpoint_ms is None,
        "tolerant": False,
        "idleness": 0,
        "scratch": str(Path(task.work, "scratch").absolute()),
    }


def jvm_options() -> list[str]:
    """Returns the options of Flink's JVM, which are Tidemark's."""
    return [f"-Xmx{heap()}", *JVM_OPTIONS.split()]


def require() -> None:
    """Raises SetUpError if a JDK or a jar is missing: at once, not after an hour of drains by other contestants."""
    try:
        compiler()
    except SetUpError as error:
        raise SetUpError(
            f"{error} Or leave Flink out: --jobs ours,tuned,defaults, and --only without freshness-flink"
        ) from error
    flink_jars()


@contextmanager
def mini_cluster(task: Task, api: Api, checkpoint_ms: int | None = None) -> Iterator[Callable[[Path], int]]:
    """Yields a function that drains the topic into a folder and returns the number of late rows that Flink dropped.

    With `checkpoint_ms` it does not return.

    Raises SetUpError without a JDK or jars, BenchmarkError if the cluster ends.
    """
    classes, settings_file = Path(task.work, "classes"), Path(task.work, "settings.json")
    for folder in (classes, Path(task.work, "scratch")):
        folder.mkdir()
    settings_file.write_text(json.dumps(drain_settings(task, api, checkpoint_ms)))
    java = command(compiled(PROGRAM, classes), "drains.Main", jvm_options())
    # Its stderr is that of this process: the log that is quoted when it fails.
    popen = subprocess.Popen(
        dying_with_parent([*java, str(settings_file)]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        _answer(popen, _READY)
        yield lambda folder: _drain(popen, folder)
    finally:
        popen.kill()
        popen.communicate()


def _drain(popen: "subprocess.Popen[str]", folder: Path) -> int:
    assert popen.stdin is not None  # noqa: S101 - for the type checker
    popen.stdin.write(f"{folder.as_uri()}\n")
    popen.stdin.flush()
    return int(_answer(popen, _DONE))


def _answer(popen: "subprocess.Popen[str]", word: str) -> str:
    """Returns the rest of the next line that begins with `word`; prints other lines, which are Flink's."""
    assert popen.stdout is not None  # noqa: S101 - for the type checker
    for line in popen.stdout:
        if line.startswith(word):
            return line.removeprefix(word)
        sys.stdout.write(line)
    raise BenchmarkError(f"Flink ended: {popen.wait()}")
