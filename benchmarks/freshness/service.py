"""Runs the service under load in a process of its own, with a thread that samples it. SIGTERM stops it."""

import json
import os
import signal
import sys
import time
import urllib.request
from pathlib import Path
from threading import Event, Thread
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from benchmarks.freshness.figures import Memory, Sample
from benchmarks.measure import cpu_seconds, descendants, resident_bytes
from benchmarks.settings import service_settings
from benchmarks.task import READY, Task
from tidemark.pipeline.app import open_service
from tidemark.pipeline.metrics.metric_catalogue import BATCH_DURATION

SAMPLES = "samples.json"
WAREHOUSE = "warehouse"
_EVERY_S = 0.1
_MEMORY_EVERY = 10
_PAGE_EVERY = 50
_ANSWER_S = 10


def main() -> None:
    """Runs the service until SIGTERM, and writes the samples to the work folder."""
    task, interval_ms = Task(**json.loads(sys.argv[1])), int(sys.argv[2])
    work, stopping, done = Path(task.work), Event(), Event()
    samples: list[Sample] = []
    with open_service(service_settings(task, work / WAREHOUSE, batch={"interval": f"{interval_ms}ms"})) as service:
        signal.signal(signal.SIGTERM, lambda *_: stopping.set())
        # PySpark has no public access to its JVM.
        jvm = SparkSession.active().sparkContext._jvm  # noqa: SLF001
        sampler = Thread(target=_sample, args=(service.metrics_port, jvm, samples, done), name="sampler", daemon=True)
        sampler.start()
        (work / READY).touch()
        try:
            service.run(stopping)
        finally:
            done.set()
            sampler.join()
    (work / SAMPLES).write_text(json.dumps(samples))


def now_ms() -> int:
    """Returns the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _sample(metrics_port: int, jvm: Any, samples: list[Sample], done: Event) -> None:
    """Samples ten times per second, which is cheap compared with a batch.

    Memory and CPU are sampled every second, the metrics page every five seconds.
    """
    compilation = jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    runtime, java = jvm.java.lang.Runtime.getRuntime(), descendants()
    while not done.wait(_EVERY_S):
        look, at, classes = len(samples), now_ms(), compilation.getCount()
        memory = None if look % _MEMORY_EVERY else _memory(runtime, java)
        used = cpu_seconds(os.getpid(), *java) if memory else None
        steps = None if look % _PAGE_EVERY else _read_steps(f"http://127.0.0.1:{metrics_port}/metrics")
        samples.append(Sample(at, classes, memory, steps, used))


def _memory(runtime: Any, java: list[int]) -> Memory:
    heap = runtime.totalMemory() - runtime.freeMemory()
    return Memory(resident_bytes(os.getpid()), sum(map(resident_bytes, java)), heap)


def _read_steps(address: str) -> dict[str, tuple[float, float]]:
    with urllib.request.urlopen(address, timeout=_ANSWER_S) as page:  # noqa: S310 - our own
        return steps_of(page.read().decode())


def steps_of(page: str) -> dict[str, tuple[float, float]]:
    """Returns the count and the sum of seconds of each step of a batch, from a metrics page."""
    steps: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if family.name == BATCH_DURATION.name and "le" not in sample.labels:
                steps.setdefault(sample.labels["step"], {})[sample.name.rpartition("_")[2]] = sample.value
    return {step: (values.get("count", 0.0), values.get("sum", 0.0)) for step, values in steps.items()}


if __name__ == "__main__":
    main()
