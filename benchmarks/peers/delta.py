"""Delta Lake in Spark, which peers of Tidemark write with."""

from typing import Final

JAR_SETS: Final = ("spark", "peers", "delta")
"""Sections of jars.lock."""
EXTENSION: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""The properties of Delta's guide."""
TUNED: Final = {**EXTENSION, "spark.databricks.delta.snapshotPartitions": "1"}
"""Also for small tables."""
