"""Delta Lake in Spark, which peers of Tidemark write with."""

from typing import Final

from tidemark.pipeline.runtime.spark import DELTA

JAR_SETS: Final = ("spark", "peers", "delta")
"""Sections of jars.lock."""
TUNED: Final = {**DELTA, "spark.databricks.delta.snapshotPartitions": "1"}
"""Also for small tables."""
