"""Pseudonyms as columns, and what is stored of a rejected record if users are known by pseudonyms.

A pseudonym is HMAC-SHA-256 in Spark's own functions. Its key is the only row of a table instead of a literal, which
plans, Spark's pages and its logs would print.

No byte of a rejected record is stored, because any may belong to the user. If the record is an event that was late or
from the future, its readable fields are stored with the pseudonym, which is all that `tidemark correct` needs. Nothing
is stored of a malformed record, except the frame if its schema id is unknown.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from tidemark.pipeline import columns as c
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.fold.conditions import FIELDS
from tidemark.pipeline.pseudonyms import HEX_DIGITS, Pseudonyms

ToPseudonym = Callable[[Column], Column]
"""Returns the pseudonym of the user in a column; null for null."""
_EVENT_CHECKS: Final = [
    int(check) for check in (Check.PARTLY_LATE, Check.TOO_LATE, Check.FUTURE, Check.AHEAD_OF_CLOCK, Check.AGE)
]
"""The checks that only an event can fail."""


def pseudonymizer(spark: SparkSession, pseudonyms: Pseudonyms) -> ToPseudonym:
    """Returns the function whose columns equal `pseudonyms.of`."""
    pads = pa.table([pa.array([pad], pa.binary()) for pad in pseudonyms.pads], ["inner", "outer"])
    secret = spark.createDataFrame(pads)
    inner, outer = secret.select("inner").scalar(), secret.select("outer").scalar()

    def to_pseudonym(user: Column) -> Column:
        inner_hash = F.unhex(F.sha2(F.concat(inner, user.cast("binary")), 256))
        return F.substring(F.sha2(F.concat(outer, inner_hash), 256), 1, HEX_DIGITS)

    return to_pseudonym


def require_one_name(same_as_user: Iterable[str]) -> None:
    """Raises SetUpError if a field that is read is the user under another name."""
    if others := sorted(same_as_user):
        raise SetUpError(
            f"a filter, marker or dimension names {others[0]}, which is another name of {c.USER_ID}, of which there "
            "are only pseudonyms (privacy)"
        )


def stored_bytes(
    names: Sequence[str], to_pseudonym: ToPseudonym, frame: Column, personal: Collection[str] = ()
) -> dict[str, Column]:
    """Returns the columns stored in place of a record's key and value: an event as JSON of its fields `names`.

    `frame` is stored of a record with an unknown schema id. Fields in `personal` are stored as pseudonyms, too.
    """
    kept = {name: F.col(f"{FIELDS}.`{name}`") for name in names if name != c.USER_ID}
    hidden = {name: to_pseudonym(kept[name]) for name in {*personal} & kept.keys()}
    columns = {**kept, **hidden, c.USER_ID: to_pseudonym(F.col(c.USER_ID))}
    fields = [columns[name].alias(name) for name in names]
    event = F.to_json(F.struct(*fields)).cast("binary")
    check = F.col(c.CHECK)
    value = F.when(check.isin(_EVENT_CHECKS), event).when(check == int(Check.SCHEMA_ID), frame)
    return {c.KEY: F.lit(None).cast("binary"), c.VALUE: value}


def fields_of_letters(letters: DataFrame, names: Sequence[str], alike: DataFrame) -> list[Column]:
    """Returns the fields `names` of events that `stored_bytes` stored as JSON, with the types that `alike` has."""
    kinds = StructType([StructField(name, alike.schema[name].dataType) for name in names])
    event = F.from_json(letters[c.VALUE].cast("string"), kinds)
    return [event[name].alias(name) for name in names]
