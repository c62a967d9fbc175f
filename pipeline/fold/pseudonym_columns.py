"""Pseudonyms as columns, and what is kept of a rejected record where users are known by them.

A pseudonym is HMAC-SHA-256 in Spark's own functions. Its key is no literal, which plans, pages of Spark and its logs
would print, but the one row of a table.

Of a rejected record no byte is kept, for any may be of the user. Of an event that was late, or from the future, its
fields are kept as far as they were read, with the user's pseudonym: `tidemark correct` needs no more. Of a malformed
record nothing is, but the number of a schema that is not known.
"""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from pipeline import columns as c
from pipeline.errors import SetUpError
from pipeline.event_time.checks import Check
from pipeline.fold.decode import FRAME_BYTES
from pipeline.pseudonyms import HEX_DIGITS, Pseudonyms

ToPseudonym = Callable[[Column], Column]
"""The pseudonym of a user in a column; null for null."""
_EVENTS: Final = [int(one) for one in (Check.PARTLY_LATE, Check.TOO_LATE, Check.FUTURE, Check.AHEAD_OF_CLOCK)]
"""The checks that only what is an event can fail."""


def pseudonymizer(spark: SparkSession, pseudonyms: Pseudonyms) -> ToPseudonym:
    """The columns of the pseudonyms that Python gives, too."""
    pads = pa.table([pa.array([pad], pa.binary()) for pad in pseudonyms.pads], ["inner", "outer"])
    secret = spark.createDataFrame(pads)
    inner, outer = secret.select("inner").scalar(), secret.select("outer").scalar()

    def hide(user: Column) -> Column:
        within = F.unhex(F.sha2(F.concat(inner, user.cast("binary")), 256))
        return F.substring(F.sha2(F.concat(outer, within), 256), 1, HEX_DIGITS)

    return hide


def require_one_name(texts: Iterable[str], names: Collection[str]) -> None:
    """Raises SetUpError where fields that are kept are the user by another name, of Avro's aliases."""
    fields = (field for text in texts for field in json.loads(text)["fields"])
    called = ({field["name"], *field.get("aliases", ())} for field in fields)
    others = sorted({name for its in called if c.USER_ID in its for name in its & {*names}} - {c.USER_ID})
    if others:
        raise SetUpError(
            f"a filter or marker names {others[0]}, which is another name of {c.USER_ID}, of which there are only "
            "pseudonyms (privacy)"
        )


def stored_bytes(names: Sequence[str], hide: ToPseudonym) -> dict[str, Column]:
    """What stands for the key and the value of a record, whose fields have these names; an event as JSON."""
    fields = [hide(F.col(name)).alias(name) if name == c.USER_ID else F.col(name) for name in names]
    event = F.to_json(F.struct(*fields)).cast("binary")
    frame = F.substring(c.VALUE, 1, FRAME_BYTES)
    check = F.col(c.CHECK)
    value = F.when(check.isin(_EVENTS), event).when(check == int(Check.SCHEMA_ID), frame)
    return {c.KEY: F.lit(None).cast("binary"), c.VALUE: value}


def fields_of_letters(letters: DataFrame, names: Sequence[str], alike: DataFrame) -> list[Column]:
    """The fields of such events, of the types that they have in another frame."""
    kinds = StructType([StructField(name, alike.schema[name].dataType) for name in names])
    event = F.from_json(letters[c.VALUE].cast("string"), kinds)
    return [event[name].alias(name) for name in names]
