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
    # Spark gives back what nobody refers to in the second, after the first has told it.
    for _ in range(2):
        jvm.java.lang.System.gc()
    return int(runtime.totalMemory() - runtime.freeMemory())
