"""Creates the archive of classes by a short run of Spark: `python -m tidemark.pipeline.service.load_classes`."""

import os
import sys
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame

from tidemark.pipeline.decoding.decode import decoded
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.record_columns import BatchContext
from tidemark.pipeline.runtime.classes import ARCHIVE, QUIET
from tidemark.pipeline.runtime.pyspark_internals import end_java
from tidemark.pipeline.runtime.spark import JVM_OPTIONS, spark_session
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventSchemas

_WRITTEN_S: Final = 600
_FAILED: Final = 1
_SET_UP: Final = 2
_RECORD: Final = (
    "cast(null AS binary) AS key",
    "cast('x' AS binary) AS value",
    "0 AS partition",
    "value AS offset",
    "0L AS kafka_timestamp",
)


def main() -> int:
    """Returns exit code 0 if the archive exists, 1 if Java did not write it, 2 after a configuration error."""
    # An incomplete archive would kill the Java that reads it.
    unfinished = ARCHIVE.with_suffix(f".{os.getpid()}")
    try:
        status = _load(unfinished)
        if status == 0 and unfinished.is_file():
            unfinished.replace(ARCHIVE)
            return 0
    except SetUpError as error:
        sys.stderr.write(f"{error}\n")
        return _SET_UP
    finally:
        unfinished.unlink(missing_ok=True)
    sys.stderr.write(f"Java ended with {status} and wrote no {ARCHIVE}: without it the service starts more slowly.\n")
    return _FAILED


def _load(archive: Path) -> int:
    """Writes the archive; returns the exit code of the Java process."""
    # Instead of the options that read an existing archive. The run is short: compiling would take longer.
    options = f"{JVM_OPTIONS} -XX:TieredStopAtLevel=1 -XX:ArchiveClassesAtExit={archive} {QUIET}"
    conf = {"spark.driver.extraJavaOptions": options, "spark.driver.memory": "1g"}
    spark = spark_session(SparkSettings(conf=conf))
    fold = FoldPlan(EventSchemas(load_schemas()), Settings().policy(), 1)

    def each(batch: DataFrame, _: int) -> None:
        records = decoded(batch.selectExpr(*_RECORD), fold.decoding_plan)
        packed = fold.packed(fold.keyed(records, BatchContext(None, 0))).persist()
        fold.spark_statistics(fold.unpacked(packed)).toArrow()
        packed.toArrow()

    stream = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    stream.writeStream.foreachBatch(each).trigger(once=True).start().awaitTermination()
    return end_java(spark, _WRITTEN_S)  # Java writes the archive now


if __name__ == "__main__":
    sys.exit(main())
