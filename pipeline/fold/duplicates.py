"""Events with an id, told apart in the middle of a fold: which repeat another is decided on the driver.

The rows of a batch are kept between the two halves of a fold, so that records are read and decoded once all the same.
"""

import json
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.errors import SetUpError
from pipeline.event_time.checks import Check
from pipeline.event_time.event_ids import Ids, Longs
from pipeline.fold.projection import types_by_name
from schemas.fields import EventSchemas

REPEATED: Final = "repeated"
_OTHER_SEED: Final = 1
PARTITION_STEP: Final = 2**48
"""From a record position to that of the same offset in the next partition."""


def require_event_id(schemas: EventSchemas) -> None:
    """Raises SetUpError where no event could have an id."""
    known = (types_by_name(json.loads(text)) for text in schemas.texts.values())
    if schemas.fields.event_id == c.EVENT_ID and not any(c.EVENT_ID in fields for fields in known):
        raise SetUpError(
            f"deduplicate is {c.EVENT_ID}, but no schema of the events has a field {c.EVENT_ID}: "
            "set it to off, or name the field in schemas.mapping.event_id"
        )


def record_position() -> Column:
    """Partition and offset in one number, by which single events are told apart and put in order."""
    return (F.col(c.PARTITION).cast("long") * PARTITION_STEP + F.col(c.OFFSET)).alias(c.RECORD_POSITION)


def id_columns() -> list[Column]:
    """The record position, and two halves of a hash that are null where an event has no id, or will not be counted."""
    event_id = F.col(c.EVENT_ID).cast("string")
    asked = (F.col(c.CHECK) <= int(Check.PARTLY_LATE)) & (event_id != "")
    high, low = F.xxhash64(event_id), F.xxhash64(F.lit(_OTHER_SEED), event_id)
    return [record_position(), F.when(asked, high).alias(c.ID_HIGH), F.when(asked, low).alias(c.ID_LOW)]


def events_with_id(keyed: DataFrame) -> tuple[Ids, Longs]:
    """Those of a batch that would be counted, and their record positions."""
    names = (c.ID_HIGH, c.ID_LOW, c.TIME, c.RECORD_POSITION)
    found = keyed.where(F.col(c.ID_HIGH).isNotNull()).select(*names).toArrow()
    *ids, positions = (found[name].to_numpy() for name in names)
    return Ids(*ids), positions


def told_repeated(keyed: DataFrame, positions: Longs) -> DataFrame:
    """With a column that is null but for the records at these positions."""
    found = keyed.sparkSession.createDataFrame(pa.table({c.RECORD_POSITION: positions}))
    repeated = F.broadcast(found.withColumn(REPEATED, F.lit(True)))  # noqa: FBT003
    return keyed.join(repeated, c.RECORD_POSITION, "left")
