"""Measures what lives on the heap of this process's JVM."""

from typing import Any

from pyspark.sql import SparkSession


def live_bytes() -> int:
    """Bytes in use after a collection."""
    session = SparkSession.getActiveSession()
    assert session is not None
    # PySpark has no public door to its JVM.
    jvm: Any = session.sparkContext._jvm
    runtime = jvm.java.lang.Runtime.getRuntime()
    # Spark releases unreferenced objects in the second collection, after the first has found them.
    for _ in range(2):
        jvm.java.lang.System.gc()
    return int(runtime.totalMemory() - runtime.freeMemory())
