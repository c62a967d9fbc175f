"""Quantiles of fields: sketches have the numbers of panes and corrections, and quantiles are those of sketches."""

import struct
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Final

from tidemark.pipeline.event_time.field_measures import Function
from tidemark.pipeline.verifier.distinct_values import check_sketches, windows_of
from tidemark.pipeline.verifier.published_results import PublishedReport
from tidemark.pipeline.verifier.verification import Finding, Row
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_BUCKET: Final = struct.Struct(">iq")
_WHOLE: Final = 10_000
_EACH: Final = 64
"""The buckets of each doubling; numbers below twice as many have a bucket each."""


def check(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Compares the sketch of each row that has its panes; other checks report rows that are missing."""
    check_sketches(tables, result, finding, Function.QUANTILES, (_differing, _sketch_difference))


def check_display(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Checks that quantiles are those of the sketches of their rows."""
    for measure in result.report.field_measures:
        for name, quantile in zip(measure.measure_names, measure.quantiles, strict=False):
            number = f"CAST({name} * {10**measure.digits} AS BIGINT)"
            cell = ", ".join(result.cell)
            sql = f"SELECT {cell}, {number} AS actual, {measure.name}_sketch AS sketch FROM {result.table}"
            _, rows = tables.compare(sql, partial(_other_quantile, Fraction(quantile, _WHOLE)))
            finding.report_rows(rows, partial(_quantile_difference, result, name))


def _differing(row: Row) -> list[int] | None:
    """Returns a bucket, how many numbers the row and how many its panes have in it; None if the sketches are equal.

    A sketch that is not in order has no such bucket.
    """
    actual = Counter(bytes(each) for each in row["actual"] if each is not None)
    missing = Counter(_in_order(_counts(window)) for window in windows_of(row)) - actual
    if not missing:
        return None
    expected = _counts([min(missing)])
    published = _counts(sorted(actual)[:1])
    buckets = sorted(bucket for bucket in {*expected, *published} if expected[bucket] != published[bucket])
    return [buckets[0], published[buckets[0]], expected[buckets[0]]] if buckets else []


def _other_quantile(part: Fraction, row: Row) -> list[int] | None:
    """Returns the quantile of the sketch, an empty list for null; None if the row has a sketch and shows it."""
    expected = _quantile(_counts([row["sketch"]]), part)
    if row["sketch"] is not None and row["actual"] == expected:
        return None
    return [] if expected is None else [expected]


def _counts(sketches: Iterable[bytes | None]) -> Counter[int]:
    """Returns how many numbers sketches have, by bucket."""
    counts = Counter[int]()
    for sketch in sketches:
        whole = bytes(sketch or b"")
        for bucket, count in _BUCKET.iter_unpack(whole[: len(whole) // _BUCKET.size * _BUCKET.size]):
            counts[bucket] += count
    return counts


def _in_order(counts: Counter[int]) -> bytes:
    return b"".join(_BUCKET.pack(*each) for each in sorted(counts.items()))


def _quantile(counts: Counter[int], part: Fraction) -> int | None:
    """Returns the middle of the first bucket up to which there are `part` of all numbers; None without numbers."""
    reached = 0
    for bucket, count in sorted(counts.items()):
        reached += count
        if reached >= part * counts.total():
            return _middle(bucket)
    return None


def _middle(bucket: int) -> int:
    """Returns the number in the middle of a bucket."""
    if bucket < 0:
        return -_middle(-bucket)
    if bucket < 2 * _EACH:
        return bucket
    doublings, place = divmod(bucket, _EACH)
    width = 1 << (doublings - 1)
    return (_EACH + place) * width + width // 2


def _sketch_difference(result: PublishedReport, name: str, row: Row) -> str:
    """Returns the sentence on a row whose panes have other numbers."""
    if not row["expected"]:
        return f"{result.place_of(row)} has a sketch of {name} that is not in order"
    bucket, actual, expected = row["expected"]
    numbers = f"{actual} numbers near {_middle(bucket)} in the sketch of {name}"
    return f"{result.place_of(row)} has {numbers}, but its panes and corrections have {expected}"


def _quantile_difference(result: PublishedReport, name: str, row: Row) -> str:
    """Returns the sentence on a row whose quantile is not that of its sketch."""
    if row["sketch"] is None:
        return f"{result.place_of(row)} has no sketch of {name}"
    (expected,) = row["expected"] or [None]
    return f"{result.place_of(row)} shows {name} {row['actual']!r}, but its sketch makes {expected!r}"
