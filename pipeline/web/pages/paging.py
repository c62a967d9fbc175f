"""Pages of a list in descending order of a number, such as the end of a window, which many rows may share."""

from collections.abc import Callable
from dataclasses import dataclass

from tidemark.pipeline.tables.query import Row


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows of a list, newest first, and the position of the next rows."""

    rows: list[Row]
    next_page: dict[str, int] | None
    """Query parameters of the next page: `until` and `skip`. None if this is the last page."""
    searched_to: int | None
    """Rows up to this number were not searched; None if all were, or `next_page` continues."""


def page_of(
    rows: list[Row], most: int, number: Callable[[Row], int], until: int | None, skip: int, searched_to: int | None
) -> Slice:
    """Returns the first `most` of `rows`, which were read from `until` and `skip` on; more rows mean a next page."""
    page = rows[:most]
    if len(rows) <= most:
        return Slice(page, None, searched_to)
    numbers = [number(row) for row in page]
    last = numbers[-1]
    return Slice(page, {"until": last, "skip": numbers.count(last) + (skip if last == until else 0)}, None)
