"""The lists of the first page: the highest values of each key, as links that limit the page to one. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tidemark.command_line.counts import counted
from tidemark.pipeline.reading.dashboard.reader_times import Times
from tidemark.pipeline.reading.dashboard.visitor_tiles import state_text
from tidemark.pipeline.reading.pages.page_text import address, sentence_case, words

_TITLES: Final = {"pages": "Pages", "entries": "Entry pages", "exits": "Exit pages", "users": "Users"}
_LIMITS: Final = ("pages", "entries")
"""Lists whose rows limit the page to theirs: figures of a page have the visits that enter by it."""
_LONGEST: Final = 1_000
"""Longer values have no links."""


@dataclass(frozen=True, slots=True)
class ListRow:
    """A value and its number."""

    key: str | None
    number: int
    percent: float
    """Of the highest number in the list."""
    address: str
    """Empty if nothing can be asked about the value alone."""
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class VisitorList:
    """A list in two columns."""

    name: str
    title: str
    measure: str
    rows: list[ListRow]
    rest: str
    """The number of values without a row, and their sum."""
    state: str
    state_text: str
    reason: str


def visitor_lists(
    breakdowns: Mapping[str, Any], chosen: str, to: Callable[..., str], times: Times
) -> list[VisitorList]:
    """Returns the lists of the member `breakdowns`; `chosen` is the page to which they are limited, or empty.

    `to` returns the address of the page with changed parameters.
    """
    return [_list(name, breakdown, chosen, to, times) for name, breakdown in breakdowns.items()]


def _list(name: str, breakdown: Mapping[str, Any], chosen: str, to: Callable[..., str], times: Times) -> VisitorList:
    rows, measure = breakdown["rows"], _measure(breakdown)
    most = max((row[measure] for row in rows), default=0) or 1
    return VisitorList(
        name=name,
        title=_TITLES.get(name) or sentence_case(words(name)),
        measure=words(measure),
        rows=[
            ListRow(
                row["key"],
                row[measure],
                round(100 * max(row[measure], 0) / most, 1),
                _address(name, row["key"], to),
                name in _LIMITS and bool(chosen) and row["key"] == chosen,
            )
            for row in rows
        ],
        rest=_rest(breakdown, measure),
        state=breakdown["state"],
        state_text=state_text(breakdown["state"], breakdown["covered_until"], times),
        reason=times.sentence(breakdown["reason"] or ""),
    )


def _measure(breakdown: Mapping[str, Any]) -> str:
    """Returns the name of the numbers by which a list is ordered."""
    names = [*breakdown["rest"], *(name for row in breakdown["rows"][:1] for name in row if name != "key")]
    return "visits" if "visits" in names else "page_views"


def _rest(breakdown: Mapping[str, Any], measure: str) -> str:
    if not breakdown["rest_rows"]:
        return ""
    return f"{counted(breakdown['rest_rows'], 'other')}: {breakdown['rest'].get(measure, 0):,}"


def _address(name: str, key: str | None, to: Callable[..., str]) -> str:
    if not key or len(key) >= _LONGEST:
        return ""
    if name in _LIMITS:
        return to(page_url=key)
    return address("/users", id=key) if name == "users" else ""
