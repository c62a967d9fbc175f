"""Makes the archive of classes: does once what a service does, and ends. `python -m pipeline.service.load_classes`."""

import os
import sys
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame

from pipeline.errors import SetUpError
from pipeline.fold.fold_plan import FoldPlan
from pipeline.fold.record_columns import BatchContext
from pipeline.runtime.classes import ARCHIVE, QUIET
from pipeline.runtime.spark import JVM_OPTIONS, spark_session
from pipeline.settings.model import Settings, SparkSettings
from schemas import load_schemas
from schemas.fields import EventSchemas

_WRITTEN_S: Final = 600
_FAILED: Final = 1
_SET_UP: Final = 2
_RECORD: Final = (
    "cast(null AS binary) AS key",
    "cast('x' AS binary) AS value",
    "'topic' AS topic",
    "0 AS partition",
    "value AS offset",
    "timestamp",
)


def main() -> int:
    """Exit code 0 the archive is there, 1 Java did not write it, 2 something must be put right first."""
    # An archive of which a part is missing kills the Java that reads it.
    unfinished = ARCHIVE.with_suffix(f".{os.getpid()}")
    try:
        ended = _load(unfinished)
        if ended == 0 and unfinished.is_file():
            unfinished.replace(ARCHIVE)
            return 0
    except SetUpError as error:
        sys.stderr.write(f"{error}\n")
        return _SET_UP
    finally:
        unfinished.unlink(missing_ok=True)
    sys.stderr.write(f"Java ended with {ended} and wrote no {ARCHIVE}; without it the service starts more slowly.\n")
    return _FAILED


def _load(archive: Path) -> int:
    """Returns what its Java process ended with, after it has written the archive."""
    # In place of the options by which it would read an archive that is there. It does little: to compile that is waste.
    own = f"{JVM_OPTIONS} -XX:TieredStopAtLevel=1 -XX:ArchiveClassesAtExit={archive} {QUIET}"
    conf = {"spark.driver.extraJavaOptions": own, "spark.driver.memory": "1g"}
    spark = spark_session(SparkSettings(conf=conf))
    fold = FoldPlan(EventSchemas(load_schemas()), Settings().policy(), 1)

    def each(batch: DataFrame, _: int) -> None:
        packed = fold.packed(fold.keyed(batch.selectExpr(*_RECORD), BatchContext(None, 0))).persist()
        fold.spark_statistics(fold.unpacked(packed), 0).toArrow()
        packed.toArrow()

    stream = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    stream.writeStream.foreachBatch(each).trigger(once=True).start().awaitTermination()
    # PySpark has no public way to its Java process.
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001
    spark.stop()
    gateway.shutdown()
    # It writes when its input ends, and that takes longer than all the rest.
    gateway.proc.stdin.close()
    ended: int = gateway.proc.wait(_WRITTEN_S)
    return ended


if __name__ == "__main__":
    sys.exit(main())
