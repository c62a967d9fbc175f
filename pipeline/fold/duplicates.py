"""Events with an id: the driver decides between the two halves of a fold which of them are duplicates.

The rows of the first half are cached until then, so records are still read and decoded once.
"""

from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.decode import may_have_field
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.checks import is_counted
from tidemark.pipeline.event_time.event_ids import Ids, Longs
from tidemark.pipeline.event_time.rules import PARTITION_STEP
from tidemark.schemas.fields import EventSchemas

REPEATED: Final = "repeated"
_OTHER_SEED: Final = 1


def require_event_id(schemas: EventSchemas) -> None:
    """Raises SetUpError if no event can have an id. JSON has no schema that excludes it."""
    if schemas.fields.event_id == c.EVENT_ID and not may_have_field(schemas, c.EVENT_ID):
        raise SetUpError(
            f"deduplicate is {c.EVENT_ID}, but no schema of the events has a field {c.EVENT_ID}: "
            "set it to off, or name the field in schemas.mapping.event_id"
        )


def record_position() -> Column:
    """Returns partition and offset as one number, which identifies a record and orders records."""
    return (F.col(c.PARTITION).cast("long") * PARTITION_STEP + F.col(c.OFFSET)).alias(c.RECORD_POSITION)


def id_columns() -> list[Column]:
    """Returns the record position and two halves of a hash, null if an event has no id or will not be counted."""
    event_id = F.col(c.EVENT_ID).cast("string")
    may_count = is_counted(F.col(c.CHECK)) & (event_id != "")
    high, low = F.xxhash64(event_id), F.xxhash64(F.lit(_OTHER_SEED), event_id)
    return [record_position(), F.when(may_count, high).alias(c.ID_HIGH), F.when(may_count, low).alias(c.ID_LOW)]


def events_with_id(keyed: DataFrame) -> tuple[Ids, Longs]:
    """Collects ids and record positions of the events in a fold's first half that have an id and may count."""
    names = (c.ID_HIGH, c.ID_LOW, c.TIME, c.RECORD_POSITION)
    rows = keyed.where(F.col(c.ID_HIGH).isNotNull()).select(*names).toArrow()
    *ids, positions = (rows[name].to_numpy() for name in names)
    return Ids(*ids), positions


def with_repeated(keyed: DataFrame, positions: Longs) -> DataFrame:
    """Returns the rows with a column `repeated`, true for the records at `positions` and null for others."""
    rows = keyed.sparkSession.createDataFrame(pa.table({c.RECORD_POSITION: positions}))
    repeated = F.broadcast(rows.withColumn(REPEATED, F.lit(True)))  # noqa: FBT003
    return keyed.join(repeated, c.RECORD_POSITION, "left")
