"""Records of erased users, found by a join with their hashes, so that no plan and no generated code has a user."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.fold.judge import readable
from tidemark.pipeline.fold.pseudonym_columns import ToPseudonym, pseudonymizer
from tidemark.pipeline.pseudonyms import ErasedUsers, Pseudonyms

_HASH: Final = "user_hash"
_IS_ERASED: Final = "is_erased"
_IS_ALSO_ERASED: Final = "is_also_erased"


class ErasedRecords:
    """Marks the records of some users in batch after batch; created once per set of users."""

    def __init__(self, spark: SparkSession, users: ErasedUsers) -> None:
        self._hash = pseudonymizer(spark, Pseudonyms(users.salt))
        rows = spark.createDataFrame(pa.table({_HASH: sorted(users.hashes)}))
        self._rows = F.broadcast(rows.withColumn(_IS_ERASED, F.lit(True)))  # noqa: FBT003

    def mark(self, events: DataFrame, to_stored_id: ToPseudonym, further: Sequence[str] = ()) -> DataFrame:
        """Returns the events with a column that is null except for records of the users.

        `to_stored_id` returns the id under which tables have a user. If no user could be read the key of the record is
        used, which may be the user's id. Columns in `further` may have ids of people, too.
        """
        user = to_stored_id(F.coalesce(readable(c.USER_ID).cast("binary"), c.KEY))
        events = events.withColumn(_HASH, self._hash(user)).join(self._rows, _HASH, "left")
        for name in further:
            rows = self._rows.withColumnRenamed(_IS_ERASED, _IS_ALSO_ERASED)
            hashed = events.drop(_HASH).withColumn(_HASH, self._hash(to_stored_id(F.col(name))))
            marked = F.coalesce(_IS_ERASED, _IS_ALSO_ERASED)
            events = hashed.join(rows, _HASH, "left").withColumn(_IS_ERASED, marked).drop(_IS_ALSO_ERASED)
        return events

    def check(self, otherwise: Column) -> Column:
        """Returns the code of the first failed check of marked events: ERASED, or that of `otherwise`."""
        return F.when(F.col(_IS_ERASED), F.lit(int(Check.ERASED))).otherwise(otherwise)
