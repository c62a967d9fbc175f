"""What Spark writes: rows ahead of the commit, and published windows behind it."""

from pyspark.sql import DataFrame, SparkSession

from pipeline.frames import columns as c
from pipeline.tables.schemas import PAGE_VIEWS, WRITER_APP, TableSpec
from pipeline.time.windows import Due


def append(rows: DataFrame, spec: TableSpec, warehouse: str) -> None:
    """Adds a batch's rows ahead of its commit; they are void until the ledger has the batch."""
    rows.write.format("delta").mode("append").save(spec.uri(warehouse))


def read(spark: SparkSession, spec: TableSpec, warehouse: str) -> DataFrame:
    """A whole table, void rows included."""
    return spark.read.format("delta").load(spec.uri(warehouse))


def publish(rows: DataFrame, due: Due, warehouse: str, batch: int) -> None:
    """Makes `page_views` of the windows in `due` what `rows` says, in one commit.

    Windows that fire for the first time are appended; with any other among them all are replaced, which costs twice
    as much. Delta skips the write of an older process, because its transaction version is lower.
    """
    writer = rows.write.format("delta").option("txnAppId", WRITER_APP).option("txnVersion", str(batch))
    mode = writer.mode("overwrite").option("replaceWhere", _where(due)) if due.again else writer.mode("append")
    mode.save(PAGE_VIEWS.uri(warehouse))


def _where(due: Due) -> str:
    fires = f"({c.WINDOW_END} > {_timestamp(due.after)} AND {c.WINDOW_END} <= {_timestamp(due.upto)})"
    again = [f"{c.WINDOW_END} = {_timestamp(end)}" for end in sorted(due.again)]
    return " OR ".join([fires, *again])


def _timestamp(milliseconds: int) -> str:
    return f"timestamp_millis({max(milliseconds, 0)})"
