"""The lists of the first page: the highest values of each key, as links that filter everything else. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tidemark.command_line.counts import counted
from tidemark.pipeline import columns as c
from tidemark.pipeline.reading.periods.breakdowns import filter_of
from tidemark.pipeline.reading.periods.filters import OTHERS
from tidemark.pipeline.web.dashboard.reader_times import Times
from tidemark.pipeline.web.dashboard.visitor_tiles import part_text
from tidemark.pipeline.web.pages.page_text import address, sentence_case, words

_TITLES: Final = {"pages": "Pages", "entries": "Entry pages", "exits": "Exit pages", "users": "Users"}
_NAMES: Final = {c.PAGE_URL: "page", c.USER_ID: "user"}
"""Names of filters as readers know them."""
_NOTES: Final = {c.PAGE_URL: "visits are those that enter by it"}
_MORE: Final = {
    c.PAGE_URL: ("Every day of this page", "/pages", "url"),
    c.USER_ID: ("Every visit of this user", "/users", "id"),
}
"""The page of a value: the text of its link, its path and its parameter."""
_LONGEST: Final = 1_000
"""Longer values have no links."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A value to which the page is limited."""

    name: str
    value: str
    note: str
    without: str
    """The address of the page without it."""
    more_text: str
    """The text of the link to the page of the value; empty without such a page."""
    more: str


@dataclass(frozen=True, slots=True)
class ListRow:
    """A value and its number."""

    key: str | None
    number: int
    percent: float
    """The number in percent of the highest in the list."""
    address: str
    """The page with this row as a filter, or without the filter if it is set; empty if it cannot be a filter."""
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
    part: str
    """Why only a part of the list is known; empty if all is, or if the page gives the reason anyway."""
    reason: str
    """Why the list is unknown."""
    is_unknown: bool


def filters_of(only: Mapping[str, str], to: Callable[..., str]) -> list[Filter]:
    """Returns the filters of a question; `to` returns the address of the page with changed parameters."""
    return [_filter(name, value, to) for name, value in only.items()]


def _filter(name: str, value: str, to: Callable[..., str]) -> Filter:
    text, path, parameter = _MORE.get(name, ("", "", ""))
    more = address(path, **{parameter: value}) if text else ""
    return Filter(_NAMES.get(name, words(name)), value, _NOTES.get(name, ""), to(**{name: ""}), text, more)


def visitor_lists(
    answer: Mapping[str, Any], only: Mapping[str, str], to: Callable[..., str], times: Times
) -> list[VisitorList]:
    """Returns the lists of an answer; `only` are the filters of the question.

    `to` returns the address of the page with changed parameters.
    """
    return [_list(name, answer, only, to, times) for name in answer["breakdowns"]]


def _list(
    name: str, answer: Mapping[str, Any], only: Mapping[str, str], to: Callable[..., str], times: Times
) -> VisitorList:
    breakdown, period = answer["breakdowns"][name], answer["period"]
    rows, measure, by = breakdown["rows"], _measure(breakdown), filter_of(name)
    most = max((row[measure] for row in rows), default=0) or 1
    return VisitorList(
        name=name,
        title=_TITLES.get(name) or sentence_case(words(name)),
        measure=words(measure) + (" (about)" if "about" in breakdown else ""),
        rows=[
            ListRow(
                row["key"],
                row[measure],
                round(100 * max(row[measure], 0) / most, 1),
                _address(by, row["key"], only, to),
                bool(row["key"]) and row["key"] == only.get(by),
            )
            for row in rows
        ],
        rest=_rest(breakdown, measure),
        state=breakdown["state"],
        state_text=times.state_of(breakdown, period),
        part=part_text(breakdown, period, times),
        reason=times.sentence(breakdown["reason"] or ""),
        is_unknown=breakdown["state"] == "unknown",
    )


def _measure(breakdown: Mapping[str, Any]) -> str:
    """Returns the name of the numbers by which a list is ordered."""
    names = [*breakdown["rest"], *(name for row in breakdown["rows"][:1] for name in row if name != "key")]
    return "visits" if "visits" in names else "page_views"


def _rest(breakdown: Mapping[str, Any], measure: str) -> str:
    if not breakdown["rest_rows"]:
        return ""
    least = "at least " if "about" in breakdown else ""
    return f"{least}{counted(breakdown['rest_rows'], 'other')}: {breakdown['rest'].get(measure, 0):,}"


def _address(by: str, key: str | None, only: Mapping[str, str], to: Callable[..., str]) -> str:
    if not key or len(key) >= _LONGEST or by in OTHERS:
        return ""
    return to(**{by: "" if only.get(by) == key else key})
