"""Pseudonyms as columns: HMAC-SHA-256 in Spark's own functions, whose key no plan shows.

The key is no literal, which plans, the pages of Spark and its logs would print, but the one row of a table.
"""

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from pipeline.pseudonyms import HEX_DIGITS, Pseudonyms

Hide = Callable[[Column], Column]
"""The pseudonym of a user in a column; null for null."""


def hiding(spark: SparkSession, pseudonyms: Pseudonyms) -> Hide:
    """The columns of the pseudonyms that Python gives, too."""
    pads = pa.table([pa.array([pad], pa.binary()) for pad in pseudonyms.pads], ["inner", "outer"])
    secret = spark.createDataFrame(pads)
    inner, outer = secret.select("inner").scalar(), secret.select("outer").scalar()

    def hide(user: Column) -> Column:
        within = F.unhex(F.sha2(F.concat(inner, user.cast("binary")), 256))
        return F.substring(F.sha2(F.concat(outer, within), 256), 1, HEX_DIGITS)

    return hide
