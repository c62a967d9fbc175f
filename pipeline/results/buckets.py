"""Buckets of users by a hash, each a partition of `user_totals`. A bucket that grows too large is split in two.

A bucket contains the users whose hash ends in its bits. When bucket `b` of `n` bits is split, users whose next bit is 1
move to bucket `b + 2 ** n`, and no other row moves. The existing buckets are read from the table's files, so no other
state must agree with them.
Source: Larson, "Dynamic hashing", BIT 18 (1978).
"""

import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from numpy.typing import NDArray

from tidemark.pipeline import columns as c
from tidemark.pipeline.results.spill import Spill
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.query import query
from tidemark.pipeline.tables.schemas import USER_TOTALS

COLUMNS: Final = USER_TOTALS.schema.remove(USER_TOTALS.schema.get_field_index(c.BUCKET))
"""The columns without the bucket."""
Numbers = NDArray[np.int64]
_PARTITION: Final = f"partition.{c.BUCKET}"
_USERS_AT_A_TIME: Final = 65_536
"""This many users are Python strings at a time: a string is as large as a row."""
_MOST_BITS: Final = 20
"""Bits of the hash that are used: users who agree in them stay together."""


def hashes(users: pa.ChunkedArray) -> Numbers:
    """Returns a hash of each user that is the same in every process and on every machine."""
    slices = (users.slice(start, _USERS_AT_A_TIME) for start in range(0, len(users), _USERS_AT_A_TIME))
    texts = (text.encode() for part in slices for text in part.to_pylist())
    return np.fromiter(map(zlib.crc32, texts), dtype=np.int64, count=len(users))


def rows_by_bucket(table: DeltaTable) -> Counter[int]:
    """Returns the number of rows of each existing bucket."""
    counts = Counter[int]()
    files = pa.table(table.get_add_actions(flatten=True))
    if len(files):
        for row in files.select([_PARTITION, "num_records"]).to_pylist():
            counts[row[_PARTITION]] += row["num_records"]
    return counts


def bucket_of(hashed: Numbers, existing: Collection[int]) -> Numbers:
    """Returns the bucket of each hash: the existing bucket that matches most of its last bits, else bucket 0."""
    bits = max(existing, default=0).bit_length()
    exists = np.zeros(1 << bits, dtype=bool)
    exists[[*existing]] = True
    buckets = np.zeros(len(hashed), dtype=np.int64)
    for count in range(1, bits + 1):
        candidates = hashed & ((1 << count) - 1)
        buckets = np.where(exists[candidates], candidates, buckets)
    return buckets


def split(hashed: Numbers, existing: Collection[int], most: int) -> Numbers:
    """Returns the bucket of each hash, like `bucket_of`, after splitting buckets with more than `most` rows.

    >>> split(np.array([0b00, 0b10, 0b01, 0b11]), existing=[0], most=2)  # 0 becomes 0 (last bit 0) and 1 (last bit 1)
    array([0, 0, 1, 1])
    """
    grown = {*existing}
    while True:
        buckets = bucket_of(hashed, grown)
        distinct, counts = np.unique(buckets, return_counts=True)
        new = {half for bucket in distinct[counts > most].tolist() if (half := _half(bucket, grown)) is not None}
        if not new:
            return buckets
        grown |= new


def in_buckets(rows: pa.Table, existing: Collection[int], most: int) -> pa.Table:
    """Returns rows with the column `bucket`, sorted by it, after splitting buckets with more than `most` rows.

    `existing` are the buckets of the table.
    """
    buckets = split(hashes(rows[c.USER_ID]), existing, most)
    return rows.append_column(USER_TOTALS.schema.field(c.BUCKET), pa.array(buckets)).sort_by(c.BUCKET)


def migrate(handle: Handle, by: int | None, most: int) -> None:
    """Puts the rows of a table without buckets into buckets of about `most` rows, in one commit. Raises Replaced."""

    def rewrite(commit_properties: CommitProperties) -> None:
        rows = query("SELECT * FROM totals", totals=handle.table).select(COLUMNS.names).cast(COLUMNS)
        write_deltalake(
            handle.table,
            in_buckets(rows, (), most),
            mode="overwrite",
            schema_mode="overwrite",
            partition_by=list(USER_TOTALS.partition_by),
            commit_properties=commit_properties,
        )

    while [*USER_TOTALS.partition_by] != handle.table.metadata().partition_columns:
        handle.attempt(rewrite, by=by)


def groups(buckets: Iterable[int], rows: Mapping[int, int], most: int) -> Iterator[list[int]]:
    """Yields groups of buckets with at most `most` rows together; a larger bucket is alone. `rows` counts by bucket."""
    group, count = list[int](), 0
    for bucket in sorted(buckets):
        if group and count + rows.get(bucket, 0) > most:
            yield group
            group, count = [], 0
        group.append(bucket)
        count += rows.get(bucket, 0)
    if group:
        yield group


def spread(tables: Iterable[pa.Table], count: int) -> list[Callable[[], pa.Table]]:
    """Returns readers of `count` parts (a power of two) of the rows of `tables`, by the last bits of the hashes.

    Several parts wait on the disk, because all rows have to be made before the first part is complete.
    """
    if count == 1:
        return [partial(pa.concat_tables, [*tables])]
    spills = [Spill(COLUMNS) for _ in range(count)]
    for rows in tables:
        remainders = hashes(rows[c.USER_ID]) % count
        for remainder, spill in enumerate(spills):
            spill.add(rows.filter(pa.array(remainders == remainder)))
    return [spill.read for spill in spills]


def in_buckets_sql(buckets: Iterable[int]) -> str:
    """Returns an SQL condition: the row is in one of the buckets."""
    return f"{c.BUCKET} IN ({', '.join(map(str, buckets))})"


def _half(bucket: int, existing: Collection[int]) -> int | None:
    """Returns the new bucket for half the rows of `bucket`; None if no bits are left."""
    bits = bucket.bit_length()
    while bucket + (1 << bits) in existing:
        bits += 1
    return bucket + (1 << bits) if bits < _MOST_BITS else None
