"""Records of users that were erased, told by a join with a table of their hashes, which no plan and no code shows."""

from collections.abc import Callable
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.event_time.checks import Check
from pipeline.fold.judge import readable
from pipeline.fold.pseudonym_columns import pseudonymizer
from pipeline.pseudonyms import ErasedUsers, Pseudonyms

_HASH: Final = "user_hash"
_IS_ERASED: Final = "is_erased"


class ErasedRecords:
    """How a fold tells them; made once, for the users do not change from batch to batch."""

    def __init__(self, spark: SparkSession, users: ErasedUsers) -> None:
        self._hash = pseudonymizer(spark, Pseudonyms(users.salt))
        rows = spark.createDataFrame(pa.table({_HASH: sorted(users.hashes)}))
        self._rows = F.broadcast(rows.withColumn(_IS_ERASED, F.lit(True)))  # noqa: FBT003

    def mark(self, events: DataFrame, known_as: Callable[[Column], Column]) -> DataFrame:
        """With a column that is null but for records of such users; `known_as` gives the id that tables have of one.

        Of a record without a user that could be read its key is asked, which may be the user's id.
        """
        person = known_as(F.coalesce(readable(c.USER_ID).cast("binary"), c.KEY))
        return events.withColumn(_HASH, self._hash(person)).join(self._rows, _HASH, "left")

    def check(self, otherwise: Column) -> Column:
        """The code of the first failed check, before all others."""
        return F.when(F.col(_IS_ERASED), F.lit(int(Check.ERASED))).otherwise(otherwise)
