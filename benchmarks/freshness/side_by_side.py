"""Measures when readers see the windows of Tidemark and of Flink under the same load, one after the other."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyruhvro
from confluent_kafka import Message
from rich.table import Table

from benchmarks.data import PARTITIONS, count, records
from benchmarks.errors import BenchmarkError
from benchmarks.freshness.figures import Load, Span
from benchmarks.freshness.part import simulate
from benchmarks.freshness.polling import DeltaLog, FinishedFiles, Result, events_in
from benchmarks.freshness.service import WAREHOUSE, now_ms
from benchmarks.freshness.visible import Arrivals, Ints, Sighting, Visibility, visibility_of
from benchmarks.measure import cpu_seconds, descendants
from benchmarks.peers.flink.check import WINDOWS
from benchmarks.peers.flink.cluster import BOUND_MS
from benchmarks.peers.flink.unbounded import RESULT
from benchmarks.process import last_words, started, stop, wait_until
from benchmarks.report import figures_table
from benchmarks.task import READY, Reports, Task
from demo.broker import Broker
from tidemark.pipeline.tables.schemas import PAGE_VIEWS
from tidemark.producers.encode import header
from tidemark.schemas import WRITER_ID, load_schemas

_TOPIC: Final = "freshness"
_START_S: Final = 600.0
_POLL_S: Final = 0.02
_LAST_MS: Final = 1_200_000
"""Time after the time that counts, in which its last windows must become visible."""
_COUNT_S: Final = 1.0
"""Each count makes a new client, which must connect first."""
_FRAME: Final = len(header(WRITER_ID))
_AT_ONCE: Final = 50_000


@dataclass(frozen=True)
class System:
    """A system that publishes windows: `module` is that of its process, `result` finds its result in a work folder."""

    title: str
    module: str
    result: Callable[[Path], Result]
    reports: Reports = Reports.ONE


TIDEMARK: Final = System(
    "Tidemark, batch.interval {} s",
    "benchmarks.freshness.service",
    lambda work: DeltaLog(work / WAREHOUSE / PAGE_VIEWS.name),
)
FLINK: Final = System(
    "Flink, DataStream, checkpoints every {} s",
    "benchmarks.peers.flink.unbounded",
    lambda work: FinishedFiles(work / RESULT / WINDOWS),
)
TIDEMARK_REPORTS: Final = replace(TIDEMARK, title=f"{TIDEMARK.title}, three reports", reports=Reports.DEFAULT)
FLINK_REPORTS: Final = replace(
    FLINK, title="Flink, SQL, checkpoints every {} s, three windows", reports=Reports.DEFAULT
)


def measure(system: System, load: Load, window_ms: int, work: Path) -> Visibility:
    """Runs the load on a system whose interval is `load.interval_ms`.

    Raises BenchmarkError if a process fails, or a window is not visible as it must be.
    """
    work.mkdir(parents=True)
    log = work / "system.log"
    with Broker(work / "broker") as broker:
        broker.create_topic(_TOPIC, PARTITIONS)
        count(broker.bootstrap_servers, _TOPIC)  # waits until the partitions have a leader
        window = {"size": f"{window_ms}ms"}
        task = Task(broker.bootstrap_servers, _TOPIC, 0, str(work), window=window, reports=system.reports)
        with started([system.module, task.to_json(), str(load.interval_ms)], log) as process:
            wait_until((work / READY).exists, process, log, _START_S)
            # It is stopped; if it ended by itself, the last windows would wait for events.
            longer = replace(load, duration_ms=load.duration_ms + _LAST_MS)
            sent, sent_log = partial(count, task.bootstrap_servers, _TOPIC), work / "producer.log"
            with started(simulate(longer, task), sent_log) as producer:
                wait_until(lambda: bool(sent()), producer, sent_log, _START_S, _COUNT_S)
                warm = now_ms() + load.warm_up_ms
                counted = Span(warm, warm + load.duration_ms)
                sightings, cpu_s = _watch(system.result(work), process, log, counted)
                if stop(producer):
                    raise BenchmarkError(f"the simulator failed:\n{last_words(sent_log)}")
        arrivals = _arrivals(task)
    return visibility_of(arrivals, sightings, counted, cpu_s, window_ms=window_ms, bound_ms=BOUND_MS)


def _watch(result: Result, process: subprocess.Popen[bytes], log: Path, counted: Span) -> tuple[list[Sighting], float]:
    """Polls the result; returns the sightings, and the CPU seconds of the process in the span `counted`.

    It ends at a window that ends after the span: the bound later than all that were due in it. Raises BenchmarkError if
    the process ends.
    """
    sightings, cpu_s, newest = list[Sighting](), list[float](), 0
    while newest <= counted.end and (now := now_ms()) < counted.end + _LAST_MS:
        if process.poll() is not None:
            raise BenchmarkError(f"a process ended: {process.returncode}\n{last_words(log)}")
        if len(cpu_s) < len(counted) and now >= counted[len(cpu_s)]:
            cpu_s.append(cpu_seconds(process.pid, *descendants(process.pid)))
        for file in result.new_files():
            events = events_in(file)
            sightings.append(Sighting(now_ms(), events))
            newest = max(newest, *events)
        time.sleep(_POLL_S)
    return sightings, cpu_s[1] - cpu_s[0]


def _arrivals(task: Task) -> list[Arrivals]:
    """Reads the topic again, and returns the events of each partition."""
    messages = records(task.bootstrap_servers, task.topic)
    chunks = map(_columns, iter(lambda: list(islice(messages, _AT_ONCE)), []))
    partitions, event_times, timestamps = map(np.concatenate, zip(*chunks, strict=True))
    return [Arrivals(event_times[is_in], timestamps[is_in]) for is_in in map(partitions.__eq__, range(PARTITIONS))]


def _columns(messages: Sequence[Message]) -> tuple[Ints, Ints, Ints]:
    """Returns the partition, the event time and the Kafka timestamp of each message."""
    decoded = pyruhvro.deserialize_array([(m.value() or b"")[_FRAME:] for m in messages], load_schemas()[WRITER_ID])
    event_times = pc.cast(decoded["event_time"], pa.int64()).to_numpy()
    partitions, timestamps = zip(*((m.partition(), m.timestamp()[1]) for m in messages), strict=True)
    return np.array(partitions), event_times, np.array(timestamps)


def render(found: Mapping[str, Visibility]) -> Table:
    """Returns a table with the figures of each system."""
    heads = ["", "median s", "p99 s", "longest s", "windows", "CPU us/event", "cores"]
    rows = [
        [
            title,
            *(f"{age / 1000:.2f}" for age in (figures.median_ms, figures.p99_ms, figures.max_ms)),
            str(figures.windows),
            f"{figures.cpu_us_per_event:.2f}",
            f"{figures.cores:.2f}",
        ]
        for title, figures in found.items()
    ]
    return figures_table("From the event that completes a window to its visible rows", heads, rows, words=1)
