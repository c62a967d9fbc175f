"""Formats of values on pages, as filters of templates."""

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
"""From here on, two digits round to 100."""


def templates(package: str, zone: tzinfo = UTC, *, linked: bool = True) -> Environment:
    """Returns the templates of a package and the shared ones. They escape values, and show times in `zone`.

    `linked`: whether other pages exist that links can lead to.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("pipeline.reading.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=as_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
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
    environment.globals |= {"address": address, "measures": measures, "linked": linked}
    return environment


def as_text(value: Any) -> Any:
    """Returns a value for a page; in text, characters that are invisible or change the direction become escapes."""
    return printable_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def clock(milliseconds: int, zone: tzinfo = UTC) -> str:
    """Formats the time of day."""
    return f"{datetime.fromtimestamp(milliseconds / 1000, zone):%H:%M:%S}"


def number(value: float) -> str:
    """Formats a number with separated thousands."""
    return f"{value:,.0f}"


def share(part: int, whole: int) -> str:
    """Formats a share in percent, with two significant digits."""
    percent = part * 100 / whole if whole else 0
    return "100 %" if percent >= _WHOLE else f"{percent:.2g} %"


def short(text: str | None) -> str:
    """Cuts a text to a readable length."""
    if text is None:
        return "none"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def words(name: str) -> str:
    """Formats the name of a column."""
    return name.replace("_", " ")


def value(cell: Any) -> str:
    """Formats a value of a row."""
    if isinstance(cell, datetime):
        return f"{cell:%Y-%m-%d %H:%M:%S}"
    return number(cell) if isinstance(cell, int) else short(cell)


def address(path: str, **parameters: Any) -> str:
    """Returns a path with query parameters; None and empty values are left out."""
    query = {name: value for name, value in parameters.items() if value not in (None, "")}
    return f"{path}?{urlencode(query)}" if query else path


def measures(windows: Sequence[ReportWindow]) -> list[str]:
    """Returns the measures that any of the windows has; open windows have no number of different users."""
    return list(dict.fromkeys(name for window in windows for name in window.sums))


def windows_in_words(report: Report) -> str:
    """Describes the windows of a report."""
    match report.windows:
        case Grid(size_ms, slide_ms) if size_ms == slide_ms:
            return f"windows of {span_of(size_ms)}"
        case Grid(size_ms, slide_ms):
            return f"windows of {span_of(size_ms)}, one every {span_of(slide_ms)}"
        case Cumulate(size_ms, step_ms):
            return f"windows that grow by {span_of(step_ms)} up to {span_of(size_ms)}"
        case Calendar(size_ms, zone):
            return f"windows of {span_of(size_ms)} in the time zone {zone}"
        case Sessions(gap_ms):
            return f"sessions, which end after {span_of(gap_ms)} without an event"
        case Counts(size):
            return f"every {size} events"
        case _:
            raise AssertionError(report.windows)
