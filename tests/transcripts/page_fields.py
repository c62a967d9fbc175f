"""Measures of fields in transcripts, and their values by hand."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

FIELDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "entry": {"first": "page_url"},
    "exit": {"last": {"sql": "page_url"}},
    "depth": {"sum": {"sql": "length(page_url)"}},
    "deepest": {"max": {"sql": "length(page_url)"}},
    "shallowest": {"min": {"sql": "length(page_url)"}},
    "clicked": {"count_if": "event_type = 'click'"},
    "pages": {"unique": "page_url"},
}
"""The measures of fields that reports may name, as settings have them."""


def values_of(pages: Sequence[tuple[int, str]], clicks: int) -> dict[str, Any]:
    """Returns the values of `FIELDS` of events with these times and pages, and this many clicks."""
    depths = [len(page) for _, page in pages]
    different = len({page for _, page in pages})
    values = (min(pages)[1], max(pages)[1], sum(depths), max(depths), min(depths), clicks, different)
    return dict(zip(FIELDS, values, strict=True))
