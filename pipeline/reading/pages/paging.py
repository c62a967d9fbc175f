"""A list page by page: rows in the order of a falling number, such as the end of a window, which many may share."""

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.tables.query import Row


@dataclass(frozen=True, slots=True)
class Slice:
    """Some rows of a list, newest first, and where to go on."""

    rows: list[Row]
    next_page: dict[str, int] | None
    """What asks for those behind: numbers up to `until`, without so many first ones (`skip`). None: there are none."""
    searched_to: int | None
    """Rows up to this number were not looked at; None where they were, or `further` asks for them."""


def page_of(
    found: list[Row], most: int, number: Callable[[Row], int], until: int | None, skip: int, searched_to: int | None
) -> Slice:
    """The first rows of those `found` from `until` and `skip` on; where these are more than `most`, it goes on."""
    shown = found[:most]
    if len(found) <= most:
        return Slice(shown, None, searched_to)
    numbers = [number(row) for row in shown]
    last = numbers[-1]
    return Slice(shown, {"until": last, "skip": numbers.count(last) + (skip if last == until else 0)}, None)
