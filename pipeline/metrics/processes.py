"""Metrics of the processes, by prometheus_client's own collector and under its names; on Linux only."""

from typing import Final

from tidemark.pipeline.metrics.metric import Metric, MetricKind

_PROCESS: Final = (
    (MetricKind.COUNTER, "cpu_seconds_total", "How much CPU does it take?"),
    (MetricKind.GAUGE, "max_fds", "How many files may it open?"),
    (MetricKind.GAUGE, "open_fds", "Does it leak files or sockets?"),
    (MetricKind.GAUGE, "resident_memory_bytes", "How much memory does it take?"),
    (MetricKind.GAUGE, "start_time_seconds", "Since when does it run, and how often was it started?"),
    (MetricKind.GAUGE, "virtual_memory_bytes", "How much address space does it take?"),
)
JAVA: Final = "tidemark_java"
"""The prefix of the metrics of Spark's Java process."""
PROCESSES: Final = tuple(
    Metric(prefix + name, kind, "", (), asks, note)
    for prefix, note in (("process_", "The Python process."), (f"{JAVA}_process_", "Spark's Java process."))
    for kind, name, asks in _PROCESS
)
