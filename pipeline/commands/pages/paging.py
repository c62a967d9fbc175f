"""Where a list goes on: rows in the order of a falling number, such as the end of a window, which many may share."""

from collections.abc import Sequence

Further = dict[str, int]
"""What asks for the next rows: numbers up to `until`, without so many first ones (`skip`)."""


def further(shown: Sequence[int], until: int | None, skip: int) -> Further:
    """Behind rows with these numbers, which began with `until` and `skip`."""
    last = shown[-1]
    return {"until": last, "skip": sum(number == last for number in shown) + (skip if last == until else 0)}
