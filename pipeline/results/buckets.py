"""Buckets of a hash of the user, each a partition of `user_totals`: one that grows too large is split in two.

A bucket takes what the last bits of the hash say: of a bucket `b` that was split where it took `n` bits, users with one
more bit set go to bucket `b + 2 ** n`, and no other row moves. Which buckets there are is told by the table's files, so
nothing else must be kept in step with them.
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

from pipeline import columns as c
from pipeline.results.spill import Spill
from pipeline.tables.handle import Handle
from pipeline.tables.query import query
from pipeline.tables.schemas import USER_TOTALS

COLUMNS: Final = USER_TOTALS.schema.remove(USER_TOTALS.schema.get_field_index(c.BUCKET))
"""Of a row, whatever bucket it is in."""
Numbers = NDArray[np.int64]
MOST_ROWS: Final = 32_768
"""A bucket of more is split."""
_PARTITION: Final = f"partition.{c.BUCKET}"
_AT_ONCE: Final = 65_536
"""Users who are Python's texts at a time, each of which takes as many bytes as a row."""
_MOST_BITS: Final = 20
"""Of the hash: what they do not tell apart stays together."""


def hashes(users: pa.ChunkedArray) -> Numbers:
    """A hash of each user that is the same in every process and on every machine."""
    slices = (users.slice(start, _AT_ONCE) for start in range(0, len(users), _AT_ONCE))
    texts = (text.encode() for some in slices for text in some.to_pylist())
    return np.fromiter(map(zlib.crc32, texts), dtype=np.int64, count=len(users))


def rows_by_bucket(table: DeltaTable) -> Counter[int]:
    """How many rows each bucket has that there is."""
    found = Counter[int]()
    files = pa.table(table.get_add_actions(flatten=True))
    if len(files):
        for row in files.select([_PARTITION, "num_records"]).to_pylist():
            found[row[_PARTITION]] += row["num_records"]
    return found


def bucket_of(hashed: Numbers, there: Collection[int]) -> Numbers:
    """The bucket of each hash, by the buckets that there are: the one that takes most of its bits; else the first."""
    bits = max(there, default=0).bit_length()
    is_there = np.zeros(1 << bits, dtype=bool)
    is_there[[*there]] = True
    found = np.zeros(len(hashed), dtype=np.int64)
    for taken in range(1, bits + 1):
        bucket = hashed & ((1 << taken) - 1)
        found = np.where(is_there[bucket], bucket, found)
    return found


def split(hashed: Numbers, there: Collection[int], most: int = MOST_ROWS) -> Numbers:
    """The same, with further buckets in place of those that would have too many."""
    known = {*there}
    while True:
        buckets = bucket_of(hashed, known)
        numbers, counts = np.unique(buckets, return_counts=True)
        large = {half for number in numbers[counts > most].tolist() if (half := _half(number, known)) is not None}
        if not large:
            return buckets
        known |= large


def in_buckets(rows: pa.Table, there: Collection[int] = ()) -> pa.Table:
    """Rows with their buckets, in the order of these; `there` are the buckets that a table has."""
    numbers = split(hashes(rows[c.USER_ID]), there)
    return rows.append_column(USER_TOTALS.schema.field(c.BUCKET), pa.array(numbers)).sort_by(c.BUCKET)


def migrate(handle: Handle, by: int | None) -> None:
    """Puts the rows of a table that was made without buckets into them, in one commit. Raises Replaced."""

    def rewrite(commit_properties: CommitProperties) -> None:
        rows = query("SELECT * FROM it", it=handle.table).select(COLUMNS.names).cast(COLUMNS)
        write_deltalake(
            handle.table,
            in_buckets(rows),
            mode="overwrite",
            schema_mode="overwrite",
            partition_by=list(USER_TOTALS.partition_by),
            commit_properties=commit_properties,
        )

    while [*USER_TOTALS.partition_by] != handle.table.metadata().partition_columns:
        handle.attempt(rewrite, by=by)


def portions(touched: Iterable[int], rows: Mapping[int, int], most: int) -> Iterator[list[int]]:
    """Buckets that have no more rows together than so many, or are alone."""
    some, number = list[int](), 0
    for bucket in sorted(touched):
        if some and number + rows.get(bucket, 0) > most:
            yield some
            some, number = [], 0
        some.append(bucket)
        number += rows.get(bucket, 0)
    if some:
        yield some


def spread(tables: Iterable[pa.Table], number: int) -> list[Callable[[], pa.Table]]:
    """Returns what reads each of `number` parts of the rows of tables, a power of two: by the last bits of the hashes.

    Several parts wait on the disk, because all rows have to be made before the first part is complete.
    """
    if number == 1:
        return [partial(pa.concat_tables, [*tables])]
    spills = [Spill(COLUMNS) for _ in range(number)]
    for rows in tables:
        places = hashes(rows[c.USER_ID]) % number
        for place, spill in enumerate(spills):
            spill.add(rows.filter(pa.array(places == place)))
    return [spill.read for spill in spills]


def among(buckets: Iterable[int]) -> str:
    """SQL: that a row is in one of these buckets."""
    return f"{c.BUCKET} IN ({', '.join(map(str, buckets))})"


def _half(bucket: int, there: Collection[int]) -> int | None:
    """The bucket to which the half of one goes; None where no bits are left."""
    bits = bucket.bit_length()
    while bucket + (1 << bits) in there:
        bits += 1
    return bucket + (1 << bits) if bits < _MOST_BITS else None
