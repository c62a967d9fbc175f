"""Looks at the running service from a thread of its process: compilations, memory, and its own metrics page."""

import os
import time
import urllib.request
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from benchmarks.errors import BenchmarkError
from benchmarks.freshness.samples import Compilations, Memory, Samples, Steps
from benchmarks.measure import descendants, resident_bytes
from pipeline.observe.catalogue import BATCH_DURATION

_EVERY_S = 0.1
_MEMORY_EVERY = 10
_PAGE_EVERY = 50
_ANSWER_S = 10


class Sampler:
    """A context manager that samples until it is left; cheap beside a batch, at ten looks per second."""

    def __init__(self, metrics_port: int) -> None:
        """Needs the session of this process. Raises BenchmarkError if there is none."""
        session = SparkSession.getActiveSession()
        if session is None:
            raise BenchmarkError("there is no Spark session to look at")
        self.samples = Samples()
        # PySpark has no public door to its JVM.
        self._jvm: Any = session.sparkContext._jvm  # noqa: SLF001
        self._page = f"http://127.0.0.1:{metrics_port}/metrics"
        self._stopping = Event()
        self._thread = Thread(target=self._sample, name="sampler", daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._stopping.set()
        self._thread.join()

    def _sample(self) -> None:
        compilation = self._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
        runtime, java = self._jvm.java.lang.Runtime.getRuntime(), descendants()
        look = 0
        while not self._stopping.wait(_EVERY_S):
            self.samples.compilations.append(Compilations(_now(), compilation.getCount()))
            if look % _MEMORY_EVERY == 0:
                heap = runtime.totalMemory() - runtime.freeMemory()
                resident = sum(map(resident_bytes, java))
                self.samples.memory.append(Memory(_now(), resident_bytes(os.getpid()), resident, heap))
            if look % _PAGE_EVERY == 0:
                self.samples.steps.append(Steps(_now(), self._steps()))
            look += 1

    def _steps(self) -> dict[str, tuple[float, float]]:
        with urllib.request.urlopen(self._page, timeout=_ANSWER_S) as page:  # noqa: S310 - our own
            return steps_of(page.read().decode())


def steps_of(page: str) -> dict[str, tuple[float, float]]:
    """Count and sum of seconds per step of a batch, from a metrics page."""
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if family.name == BATCH_DURATION.name and "le" not in sample.labels:
                found.setdefault(sample.labels["step"], {})[sample.name.rpartition("_")[2]] = sample.value
    return {step: (values.get("count", 0.0), values.get("sum", 0.0)) for step, values in found.items()}


def _now() -> int:
    return time.time_ns() // 1_000_000
