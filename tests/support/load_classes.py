"""Makes the archive of classes: does once what a service does. Run by `make test`, where there is none yet."""

from pyspark.sql import DataFrame

from pipeline.fold.fold import BatchContext, Fold
from pipeline.runtime.session import spark_session
from pipeline.settings.model import Settings, SparkSettings
from schemas import load_schemas
from schemas.fields import EventSchemas
from tests.support.class_archive import keeping_driver

DUMPED_S = 600
_RECORD = ("cast(null AS binary) AS key", "cast('x' AS binary) AS value", "'topic' AS topic", "0 AS partition")


def main() -> None:
    """Returns when the archive is written."""
    conf = {"spark.driver.defaultJavaOptions": keeping_driver(), "spark.driver.memory": "1g"}
    spark = spark_session(SparkSettings(conf=conf))
    fold = Fold(EventSchemas(load_schemas()), Settings().policy(), 1)

    def each(batch: DataFrame, _: int) -> None:
        records = batch.selectExpr(*_RECORD, "value AS offset", "timestamp")
        folded = fold(records, BatchContext(None, 0)).cache()
        fold.statistics(folded, 0).toArrow()
        folded.toArrow()

    stream = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    stream.writeStream.foreachBatch(each).trigger(once=True).start().awaitTermination()
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    spark.stop()
    gateway.shutdown()
    # It writes the archive when its input ends, and that takes longer than all the rest.
    gateway.proc.stdin.close()
    gateway.proc.wait(DUMPED_S)


if __name__ == "__main__":
    main()
