"""Quantiles with a bounded relative error, by DDSketch: whole numbers are counted in buckets that grow with them.

A sketch is a function of the numbers alone: sketches merge by adding their counts, so neither order nor cuts matter.
Numbers below `2 * _PER_DOUBLING` have a bucket each. Above, each doubling has `_PER_DOUBLING` buckets of equal width,
whose middle differs from its numbers by `RELATIVE_ERROR` of them at most. The bucket of a negative number is that of
its absolute value, negated. A bucket is found by shifting bits, because logarithms differ between platforms;
`connector/tidemark/Numbers.java` does the same.
Source: Masson, Rim, Lee, "DDSketch" (VLDB 2019), with the mapping by bits of Datadog's `sketches-java`.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final

import numpy as np

_BITS: Final = 6
_PER_DOUBLING: Final = 1 << _BITS
RELATIVE_ERROR: Final = 1 / (2 * _PER_DOUBLING)
"""The most by which a quantile differs from the number that it stands for, relative to that number: 0.8 %."""
WHOLE: Final = 10_000
"""Quantiles are in parts of this: 9,500 is the 95th percentile."""
_ROW: Final = Struct(">iq")
"""A sketch has a row of bucket and count for each bucket with a number, in the order of buckets."""
_ROWS: Final = np.dtype([("bucket", ">i4"), ("count", ">i8")])
_FEW: Final = 64
"""Up to this many rows Python merges faster than numpy, which needs 30 us for one."""


def bucket_of(number: int) -> int:
    """Returns the bucket of a number.

    >>> bucket_of(127), bucket_of(128), bucket_of(129), bucket_of(-130)
    (127, 128, 128, -129)
    """
    size = abs(number)
    shift = max(size.bit_length() - _BITS - 1, 0)
    bucket = (shift << _BITS) + (size >> shift)
    return bucket if number >= 0 else -bucket


def number_of(bucket: int) -> int:
    """Returns the number in the middle of a bucket.

    >>> number_of(127), number_of(128), number_of(-129)
    (127, 129, -131)
    """
    shift = max((abs(bucket) >> _BITS) - 1, 0)
    size = ((abs(bucket) - (shift << _BITS)) << shift) + (1 << shift >> 1)
    return size if bucket >= 0 else -size


def sketch_of(buckets: Iterable[int], counts: Iterable[int]) -> bytes:
    """Returns the sketch of numbers, given their buckets and how many numbers each adds; buckets may repeat."""
    return _sketch(zip(buckets, counts, strict=True))


def merged(sketches: Iterable[bytes]) -> bytes:
    """Returns the sketch of all numbers in `sketches`."""
    joined = b"".join(sketches)
    if len(joined) <= _FEW * _ROW.size:
        return _sketch(_ROW.iter_unpack(joined))
    rows = np.frombuffer(joined, _ROWS)
    rows = rows[np.argsort(rows["bucket"], kind="stable")]
    starts = np.flatnonzero(np.diff(rows["bucket"].astype(np.int64), prepend=-(2**40)))
    total = rows[starts]
    total["count"] = np.add.reduceat(rows["count"].astype(np.int64), starts)
    return total.tobytes()


def quantile(sketch: bytes, part: int) -> int | None:
    """Returns about the lowest number that `part` / `WHOLE` of the numbers do not exceed; None without a number.

    >>> quantile(sketch_of([1, 2, 3, 4], [1, 1, 1, 1]), 5_000)
    2
    """
    rows = np.frombuffer(sketch, _ROWS)
    reached = np.cumsum(rows["count"].astype(np.int64))
    if not len(reached):
        return None
    rank = max(-(-int(reached[-1]) * part // WHOLE), 1)
    return number_of(int(rows["bucket"][np.searchsorted(reached, rank)]))


def _sketch(counted: Iterable[tuple[int, int]]) -> bytes:
    """Returns the sketch of pairs of a bucket and a count."""
    total = dict[int, int]()
    for bucket, count in counted:
        total[bucket] = total.get(bucket, 0) + count
    return b"".join(_ROW.pack(bucket, count) for bucket, count in sorted(total.items()))
