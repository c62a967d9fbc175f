"""The five figures of the first page, each with its state and its change. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tidemark.command_line.counts import counted, span_of
from tidemark.pipeline.web.dashboard.reader_times import Times
from tidemark.pipeline.web.pages.page_text import sentence_case

_LABELS: Final = {
    "visitors": "Visitors",
    "visits": "Visits",
    "page_views": "Page views",
    "bounce_rate": "Bounce rate",
    "visit_seconds": "Duration of visits",
}
_ROUND: Final = 0.1
"""Changes below it have a digit after the point."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure in words."""

    label: str
    value: str
    state: str
    state_text: str
    """The state, and the time that the figure covers if it is not the whole period."""
    change: str
    """Empty without a comparison."""
    notes: list[str]


def tiles_of(figures: Mapping[str, Any], period: Mapping[str, Any], times: Times) -> list[Tile]:
    """Returns the tiles of the members `figures` and `period`."""
    return [_tile(name, label, figures, period, times) for name, label in _LABELS.items()]


def no_comparison(figures: Mapping[str, Any]) -> str:
    """Returns why the first figures cannot be compared; empty if all of them are, or without a comparison."""
    compared = [figures[name]["compared"] for name in _LABELS if figures[name]["value"] is not None]
    return next((side["reason"] for side in compared if side and side["value"] is None and side["reason"]), "")


def part_text(member: Mapping[str, Any], period: Mapping[str, Any], times: Times) -> str:
    """Returns why only a part of a figure or list is known; empty if all is, or if the page gives the reason anyway."""
    reason = member["reason"] or ""
    if not reason or member["state"] == "unknown" or reason == period["reason"]:
        return ""
    return f"{sentence_case(times.sentence(reason))}."


def _tile(name: str, label: str, figures: Mapping[str, Any], period: Mapping[str, Any], times: Times) -> Tile:
    figure = figures[name]
    value = figure["value"]
    about = "" if figure["exact"] else "about "
    return Tile(
        label=label,
        value="unknown" if value is None else about + _value(name, value),
        state=figure["state"],
        state_text=times.state_of(figure, period),
        change="" if value is None else _change(name, figure["compared"], period["end"], times),
        notes=_unknown(figure, period["reason"], times) if value is None else _notes(name, figures, period, times),
    )


def _value(name: str, value: float) -> str:
    if name == "bounce_rate":
        return f"{value * 100:.0f} %"
    if name == "visit_seconds":
        return span_of(round(value) * 1000)
    return f"{value:,.0f}"


def _change(name: str, compared: Mapping[str, Any] | None, end: str, times: Times) -> str:
    if compared is None:
        return ""
    if compared["value"] is None or compared["with"] is None:
        return "No comparison"
    own, before = _value(name, compared["with"]), _value(name, compared["value"])
    until = "" if compared["until"] in (None, end) else f", both until {times.text(compared['until'])}"
    return f"{_difference(name, compared)}: {own} against {before}{until}"


def _difference(name: str, compared: Mapping[str, Any]) -> str:
    own, before, change = compared["with"], compared["value"], compared["change"]
    if own == before:
        return "No change"
    if name == "bounce_rate":
        return _signed(f"{(own - before) * 100:+.0f} points")
    if change is None:
        return "Longer" if name == "visit_seconds" else "New"
    return _signed(f"{change * 100:+.1f} %" if abs(change) < _ROUND else f"{change * 100:+,.0f} %")


def _signed(text: str) -> str:
    return text.replace("-", "\u2212")


def _unknown(figure: Mapping[str, Any], said: str | None, times: Times) -> list[str]:
    """Returns why a figure is unknown, without reasons that the page says anyway: `said`, or a missing section."""
    reason = figure["reason"] or ""
    return [] if reason in ("", said) or "[site]" in reason else [f"{sentence_case(times.sentence(reason))}."]


def _new(visitors: Mapping[str, Any], new: Mapping[str, Any], state: str) -> str:
    """Returns the new visitors, and the returning visitors if both numbers are exact and of the same time.

    `state` is that of the new visitors; of the same time as the visitors, whose tile names it, the word suffices.
    """
    is_same = all(visitors[name] == new[name] for name in ("covered_from", "covered_until"))
    text = f"{new['value']:,.0f} new ({new['state'] if is_same else state})"
    is_whole = is_same and visitors["exact"] and visitors["value"] >= new["value"]
    return f"{text}, {visitors['value'] - new['value']:,.0f} returning" if is_whole else text


def _notes(name: str, figures: Mapping[str, Any], period: Mapping[str, Any], times: Times) -> list[str]:
    figure, new = figures[name], figures["new_visitors"]
    notes = [text] if (text := part_text(figure, period, times)) else []
    if not figure["exact"]:
        notes.append(f"estimated, \u00b1 {figure['error'] * 100:.1f} %")
    if name == "visitors" and new["value"] is not None:
        notes.append(_new(figure, new, times.state_of(new, period)))
    if name == "page_views" and figures["clicks"]["value"] is not None:
        notes.append(f"and {counted(round(figures['clicks']['value']), 'click')}")
    if name == "visit_seconds" and figure.get("mean") is not None:
        notes.append(f"median; mean {span_of(round(figure['mean']) * 1000)}")
    if name == "visit_seconds" and figure.get("mean_page_views") is not None:
        notes.append(f"{figure['mean_page_views']:,.1f} page views a visit (mean)")
    if figure.get("still_going"):
        notes.append(f"{counted(round(figure['still_going']), 'visit')} still going")
    return notes
