"""Counts different users by HyperLogLog: a sketch has a few kilobytes at most, and sketches merge like sets.

Library and format are those of Spark's `hll_sketch_agg(user_id, 12)`, so Spark can merge and read sketches. The
relative standard error of a merged sketch is 1.04 / sqrt(2 ** 12), 1.6 %; a few hundred users are counted exactly.
Source: Flajolet et al., "HyperLogLog" (2007); Apache DataSketches, "HLL Sketch".
"""

from collections.abc import Iterable
from typing import Final

from datasketches import hll_sketch, hll_union, tgt_hll_type

_LG_K: Final = 12
"""Spark's default: sketches of different sizes cannot be merged."""


def sketch_of(users: Iterable[str]) -> bytes:
    """Returns the sketch of a set of user ids."""
    sketch = hll_sketch(_LG_K, tgt_hll_type.HLL_8)
    update = sketch.update
    for user in users:
        update(user)
    return bytes(sketch.serialize_compact())


def merged(sketches: Iterable[bytes]) -> bytes:
    """Returns the sketch of the union of the users in `sketches`."""
    union = hll_union(_LG_K)
    for sketch in sketches:
        union.update(hll_sketch.deserialize(sketch))
    return bytes(union.get_result(tgt_hll_type.HLL_8).serialize_compact())


def estimate(sketch: bytes) -> int:
    """Returns the number of different users in a sketch."""
    users: float = hll_sketch.deserialize(sketch).get_estimate()
    return round(users)
