"""Measures of fields in transcripts, and their values by hand."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

FIELDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "entry": {"first": "page_url"},
    "exit": {"last": {"sql": "page_url"}},
    "depth": {"sum": {"sql": "length(page_url)"}},
    "deepest": {"max": {"sql": "length(page_url)"}},
    "shallowest": {"min": {"sql": "length(page_url)"}},
    "clicked": {"count_if": "event_type = 'click'"},
    "pages": {"unique": "page_url"},
    "seen": {"collect_set": "page_url", "most": 2},
    "way": {"path": "page_url", "most": 3},
}
"""The measures of fields that reports may name, as settings have them."""
AT_RANDOM: Final = [name for name in FIELDS if name != "way"]
"""The measures of random reports: the model has no offsets, by which a path orders events of one time and partition."""


def columns_of(measures: Iterable[str]) -> tuple[str, ...]:
    """Returns the columns of measures: a list has one of what it leaves out, too."""
    lists = ("seen", "way")
    return tuple(column for name in measures for column in ((name, f"{name}_cut") if name in lists else (name,)))


def values_of(pages: Sequence[tuple[int, int, str]], clicks: int) -> dict[str, Any]:
    """Returns the values of `FIELDS` of events with these times, partitions and pages, and this many clicks."""
    of_time = [(time, page) for time, _, page in pages]
    depths, different = [len(page) for _, page in of_time], sorted({page for _, page in of_time})
    values = (min(of_time)[1], max(of_time)[1], sum(depths), max(depths), min(depths), clicks, len(different))
    lists = (tuple(different[:2]), int(len(different) > 2))
    way = [page for *_, page in sorted(pages, key=lambda each: each[:2])]
    return dict(zip(columns_of(FIELDS), (*values, *lists, tuple(way[:3]), max(len(way) - 3, 0)), strict=True))
