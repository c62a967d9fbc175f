"""How pages write what they show: filters of their templates."""

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from command_line.printable import printable_lines
from pipeline.event_time.reports import Report
from pipeline.event_time.windows.calendar import Calendar
from pipeline.event_time.windows.count import Counts
from pipeline.event_time.windows.cumulate import Cumulate
from pipeline.event_time.windows.grid import Grid
from pipeline.event_time.windows.session import Sessions
from pipeline.instants import span_of, time_of
from pipeline.reading.pages.window_sums import ReportWindow

_LONGEST: Final = 120
_WHOLE: Final = 99.5
"""From here on two digits are 100."""


def templates(package: str, zone: tzinfo = UTC, *, linked: bool = True) -> Environment:
    """The templates of a package, with the parts that all have; what they are given is escaped.

    Times are by the clocks of the zone. `linked`: whether there are other pages that links could lead to.
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("pipeline.reading.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=as_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "moment": partial(time_of, zone=zone),
        "clock": partial(clock, zone=zone),
        "span": span_of,
        "number": number,
        "share": share,
        "short": short,
        "words": words,
        "value": value,
        "windows": windows_in_words,
    }
    made.globals |= {"address": address, "measures": measures, "linked": linked}
    return made


def as_text(found: Any) -> Any:
    """A value on a page: in text that came from outside no character turns the direction of others, or is invisible."""
    return printable_lines(found) if isinstance(found, str) and not isinstance(found, Markup) else found


def clock(milliseconds: int, zone: tzinfo = UTC) -> str:
    """The time of day."""
    return f"{datetime.fromtimestamp(milliseconds / 1000, zone):%H:%M:%S}"


def number(value: float) -> str:
    """With its thousands apart."""
    return f"{value:,.0f}"


def share(part: int, whole: int) -> str:
    """In percent, with two digits that tell."""
    percent = part * 100 / whole if whole else 0
    return "100 %" if percent >= _WHOLE else f"{percent:.2g} %"


def short(text: str | None) -> str:
    """A text that came from outside and may be of any length."""
    if text is None:
        return "none"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def words(name: str) -> str:
    """A column's name."""
    return name.replace("_", " ")


def value(found: Any) -> str:
    """A value of a row."""
    if isinstance(found, datetime):
        return f"{found:%Y-%m-%d %H:%M:%S}"
    return number(found) if isinstance(found, int) else short(found)


def address(path: str, **wanted: Any) -> str:
    """A path with what is asked of it, without what is not."""
    told = {name: found for name, found in wanted.items() if found not in (None, "")}
    return f"{path}?{urlencode(told)}" if told else path


def measures(windows: Sequence[ReportWindow]) -> list[str]:
    """What any of the windows tells: of one that is open no engine here tells different users."""
    return list(dict.fromkeys(name for window in windows for name in window.sums))


def windows_in_words(report: Report) -> str:
    """The windows of a report."""
    match report.windows:
        case Grid(size_ms, slide_ms) if size_ms == slide_ms:
            return f"windows of {span_of(size_ms)}"
        case Grid(size_ms, slide_ms):
            return f"windows of {span_of(size_ms)}, one every {span_of(slide_ms)}"
        case Cumulate(size_ms, step_ms):
            return f"windows that grow by {span_of(step_ms)} up to {span_of(size_ms)}"
        case Calendar(size_ms, zone):
            return f"windows of {span_of(size_ms)} by the clocks of {zone}"
        case Sessions(gap_ms):
            return f"sessions, which end after {span_of(gap_ms)} without an event"
        case Counts(size):
            return f"every {size} events"
    raise AssertionError(report.windows)
