"""The first page, for people who ask about visitors: the object of `/traffic.json` in words. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final
from zoneinfo import ZoneInfo

from tidemark.command_line.counts import counted
from tidemark.pipeline.reading.periods.ask import Words
from tidemark.pipeline.reading.periods.figures import Bar
from tidemark.pipeline.reading.periods.local_days import local_date
from tidemark.pipeline.reading.periods.period import Compare, Period
from tidemark.pipeline.reading.periods.period_traffic import PeriodTraffic
from tidemark.pipeline.reading.periods.traffic_json import as_json
from tidemark.pipeline.web.dashboard.annotations import Annotation
from tidemark.pipeline.web.dashboard.reader_times import Times
from tidemark.pipeline.web.dashboard.visitor_chart import VisitorChart, visitor_chart
from tidemark.pipeline.web.dashboard.visitor_lists import Filter, VisitorList, filters_of, visitor_lists
from tidemark.pipeline.web.dashboard.visitor_notes import Mark, Note, notes_of
from tidemark.pipeline.web.dashboard.visitor_tiles import Tile, no_comparison, tiles_of
from tidemark.pipeline.web.pages.page_text import address, sentence_case

DEFAULT_COMPARE: Final = Compare.PREVIOUS
_PERIODS: Final = {
    "today": "Today",
    "yesterday": "Yesterday",
    "7d": "7 days",
    "28d": "28 days",
    "90d": "90 days",
    "month": "Month",
    "year": "Year",
}
_COMPARISONS: Final = {
    Compare.PREVIOUS: ("the day before", "the days before"),
    Compare.WEEK: ("same weekday before", "same weekdays before"),
    Compare.YEAR: ("a year before", "a year before"),
    Compare.NONE: ("nothing", "nothing"),
}
"""The names of comparisons, for a period of one day and for longer periods."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A link that changes the question."""

    text: str
    address: str
    is_current: bool = False


def periods(current: str, to: Callable[..., str]) -> list[Choice]:
    """Returns links to periods; `current` is the chosen one, `to` returns the address with changed parameters."""
    return [Choice(text, to(period=name), name == current) for name, text in _PERIODS.items()]


def comparisons(current: str, days: int, to: Callable[..., str]) -> list[Choice]:
    """Returns links to comparisons of a period of `days`, like `periods`."""
    return [Choice(texts[days > 1], to(compare=name), name == current) for name, texts in _COMPARISONS.items()]


@dataclass(frozen=True, slots=True)
class VisitorPage:
    """The texts and links of the page."""

    name: str
    """The days of the period."""
    zone: ZoneInfo
    filters: list[Filter]
    question: dict[str, str]
    """The parameters of the address that are not defaults."""
    periods: list[Choice]
    earlier: Choice
    later: Choice | None
    """None if the next period is after today."""
    comparisons: list[Choice]
    compared_name: str
    """The days that are compared; empty without a comparison."""
    no_comparison: str
    """Why figures have no comparison; empty if all have."""
    strip: str
    """How far the numbers are complete and final."""
    newest: Choice | None
    """The last day with events, if the period has no numbers."""
    tiles: list[Tile]
    chart: VisitorChart
    notes: list[Note]
    marks: list[Mark]
    lists: list[VisitorList]
    missing: list[str]
    """Figures that a line in the settings would add."""
    whole: str
    """The address of the page without filters."""
    files: list[Choice]
    """The answer as files."""


def visitor_page(
    traffic: PeriodTraffic,
    before: Sequence[Bar],
    annotations: Sequence[Annotation],
    words: Words,
    now: int,
    incomparable: str = "",
) -> VisitorPage:
    """Returns the page of an answer to `words`; `before` is the series of the compared period, `now` (ms) the clock.

    `incomparable` says why the answer has no comparison although `words` ask for one.
    """
    answer, period, times = as_json(traffic), traffic.question.period, Times(traffic.question.period)
    zone = words.zone.key if words.zone else ""
    question = {"period": words.period, "compare": str(words.compare), "zone": zone, **words.only}
    to, after = partial(_address_with, question), _shifted(period, 1)
    notes, marks = notes_of(annotations, period)
    is_past = after.first <= local_date(now, period.zone)
    return VisitorPage(
        name=_days_text(period),
        zone=period.zone,
        filters=filters_of(words.only, to),
        question={name: value for name, value in question.items() if value},
        periods=periods(words.period, to),
        earlier=Choice("Earlier", to(period=_dates(_shifted(period, -1)))),
        later=Choice("Later", to(period=_dates(after))) if is_past else None,
        comparisons=comparisons(words.compare, len(period.days), to),
        compared_name=_compared_name(before, period.zone),
        no_comparison=incomparable or times.sentence(no_comparison(answer["figures"])),
        strip=_strip(answer, times),
        newest=_newest(traffic, to),
        tiles=tiles_of(answer["figures"], answer["period"], times),
        chart=visitor_chart(traffic, before),
        notes=notes,
        marks=marks,
        lists=visitor_lists(answer, words.only, to, times),
        missing=_missing(answer["figures"]),
        whole=to(**dict.fromkeys(words.only, "")),
        files=[Choice(form.upper(), address(f"/traffic.{form}", **question)) for form in ("csv", "json")],
    )


def _address_with(question: dict[str, str], **changes: str) -> str:
    """Returns the address of a question with changed parameters; an empty value removes a parameter."""
    asked, defaults = question | changes, {"period": "today", "compare": DEFAULT_COMPARE}
    return address("/", **{name: value for name, value in asked.items() if value != defaults.get(name)})


def _strip(answer: dict[str, Any], times: Times) -> str:
    """Returns how far the page views are complete and final."""
    period = answer["period"]
    match period["state"]:
        case "final":
            return "Complete and final: these numbers change no more."
        case "complete":
            return f"Complete{_final(period, times)}. Events that come late may still be added."
        case "so far":
            return f"{_so_far(period, times)}{_part(period, times)}"
        case "partial":
            covered = times.state_of(period, period).removeprefix("partial, ")
            return f"Known in part: {covered}{_final(period, times)}.{_part(period, times)}"
    is_known = any(figure["state"] != "unknown" for figure in answer["figures"].values())
    return f"No {'page views' if is_known else 'numbers'}: {times.sentence(period['reason'])}."


def _so_far(period: dict[str, Any], times: Times) -> str:
    until = times.text(period["covered_until"])
    if period["final_until"] >= period["covered_until"]:
        return f"Complete and final until {until}."
    return f"Complete until {until}{_final(period, times)}."


def _part(period: dict[str, Any], times: Times) -> str:
    return f" {sentence_case(times.sentence(period['reason']))}." if period["reason"] else ""


def _final(period: dict[str, Any], times: Times) -> str:
    has_final = period["final_until"] > period["start"]
    return f", final until {times.text(period['final_until'])}" if has_final else ", nothing is final yet"


def _newest(traffic: PeriodTraffic, to: Any) -> Choice | None:
    watermark = traffic.sources.watermark
    if watermark is None or watermark >= traffic.question.period.start:
        return None
    day = local_date(watermark - 1, traffic.question.period.zone)
    return Choice(f"{day}", to(period=f"{day}..{day}"))


def _missing(figures: dict[str, Any]) -> list[str]:
    names = {"visitors": "visitors", "visits": "visits, bounces and durations", "page_views": "page views"}
    return [text for name, text in names.items() if "[site]" in (figures[name]["reason"] or "")]


def _compared_name(before: Sequence[Bar], zone: ZoneInfo) -> str:
    if not before:
        return ""
    return _span_text(local_date(before[0].start, zone).isoformat(), local_date(before[-1].end - 1, zone).isoformat())


def _days_text(period: Period) -> str:
    days = len(period.days)
    named = f"{period.first:%A}, {period.first}" if days == 1 else f"{period.first} to {period.last}"
    return sentence_case(named if days == 1 else f"{named}, {counted(days, 'day')}")


def _span_text(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def _shifted(period: Period, sign: int) -> Period:
    by = timedelta(days=sign * len(period.days))
    return Period(period.first + by, period.last + by, period.zone)


def _dates(period: Period) -> str:
    return f"{period.first}..{period.last}"
