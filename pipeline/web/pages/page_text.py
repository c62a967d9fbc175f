"""Formats of values on pages, as filters of templates. Filters of times use the variable `zone` of the page."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from tidemark.command_line.counts import counted, span_of
from tidemark.command_line.printable import printable_lines
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.instants import ms_of
from tidemark.pipeline.measures import label
from tidemark.pipeline.reading.window_names import clock_text, date_text, moment_text, window_name, zone_of_report
from tidemark.pipeline.tables.query import Row
from tidemark.pipeline.web.pages.letter_pages import sentence
from tidemark.pipeline.web.pages.time_axis import Axis
from tidemark.pipeline.web.pages.window_sums import ReportWindow, drawn_measure

_LONGEST: Final = 120
_MANY: Final = 1e6


def templates(package: str, *, linked: bool = True) -> Environment:
    """Returns the templates of a package and the shared ones. They escape values.

    `linked`: whether other pages exist that links can lead to.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("tidemark.pipeline.web.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=as_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "moment": _in_zone(moment_text),
        "clock": _in_zone(clock_text),
        "date": _in_zone(date_text),
        "because": _in_zone(sentence),
        "named": named,
        "row_name": row_name,
        "up_to": up_to,
        "value": value,
        "pieces": pieces,
        "span": span_of,
        "number": number,
        "counted": counted,
        "share": share,
        "short": short,
        "words": words,
        "sentence_case": sentence_case,
        "unchanged": unchanged,
        "isolated": isolated,
    }
    environment.globals |= {"address": address, "linked": linked}
    environment.globals |= {"time_axis": time_axis, "measures": measures, "drawn_measure": drawn_measure}
    return environment


def _in_zone(text: Callable[[Any, tzinfo], str]) -> Callable[..., str]:
    """Returns the filter that calls `text` with the zone of the page."""
    return pass_context(lambda context, item: text(item, context["zone"]))


def words(name: str, report: Report | None = None) -> str:
    """Returns the name of a column, or of anything else, as people read it; `report` marks its estimates."""
    return label(name) if report is None else label(name, report.estimates)


@pass_context
def named(context: Context, window: ReportWindow, report: Report) -> str:
    """Returns the name of a window in the zone of its report, or else of the page."""
    return window_name(window.start, window.end, report.windows, zone_of_report(report, context["zone"]))


@pass_context
def row_name(context: Context, row: Row, report: Report, *, in_page_zone: bool = False) -> str:
    """Returns the name of the window of a row, in the zone of its report, or `in_page_zone`."""
    start, end = ms_of(row["window_start"]), ms_of(row["window_end"])
    zone = context["zone"] if in_page_zone else zone_of_report(report, context["zone"])
    return window_name(start, end, report.windows, zone)


@pass_context
def up_to(context: Context, until: int, report: Report) -> str:
    """Describes the windows that end by `until` (ms), by the name of the last window if one ends at that time."""
    zone, windows = zone_of_report(report, context["zone"]), report.windows
    if not isinstance(windows, Periodic) or windows.reached(until) != until:
        return f"windows that end by {moment_text(until, zone)}"
    return f"windows up to {window_name(windows.begin(until), until, windows, zone)}"


@pass_context
def value(context: Context, cell: Any) -> str:
    """Formats a value of a row."""
    if isinstance(cell, datetime):
        return moment_text(ms_of(cell), context["zone"])
    if isinstance(cell, list):
        return short(", ".join(cell))
    if isinstance(cell, float):  # an average
        return f"{cell:,.6g}" if abs(cell) < _MANY else number(cell)
    return number(cell) if isinstance(cell, int | Decimal) else short(cell)


def pieces(text: str) -> Markup:
    """Returns a time or the name of a window, in which lines may break before a date or a time, and not within one.

    >>> print(pieces("[2024-10-27 02:45 CEST, 02:00 CET)"))
    <span class="piece">[2024-10-27</span> <span class="piece">02:45 CEST,</span> <span class="piece">02:00 CET)</span>
    """
    piece = Markup('<span class="piece">{}</span>')
    return Markup(" ").join(piece.format(part) for part in re.split(r" (?=\d)", text))


@pass_context
def time_axis(context: Context, left: int, right: int, report: Report | None = None) -> Axis:
    """Returns an axis of time in the zone of a report, or else of the page."""
    return Axis(left, right, zone_of_report(report, context["zone"]) if report else context["zone"])


def as_text(value: Any) -> Any:
    """Returns a value for a page; in text, characters that are invisible or change the direction become escapes."""
    return printable_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def number(value: float | Decimal) -> str:
    """Formats a number with separated thousands, and a decimal with all of its digits."""
    return f"{value:,}" if isinstance(value, int | Decimal) else f"{value:,.0f}"


def share(part: int, whole: int) -> str:
    """Formats a share in percent, with two significant digits; only 0 is "0 %", and only the whole is "100 %".

    >>> share(1, 1_000_000), share(995, 1000)
    ('< 0.01 %', '99.5 %')
    """
    if part in (0, whole):
        return f"{100 if part else 0} %"
    if part * 10_000 < whole:
        return "< 0.01 %"
    tenths = part * 1000 // whole
    if tenths >= 990:  # noqa: PLR2004 - 99 %
        return f"{'> ' if tenths == 999 else ''}{tenths / 10:.1f} %"  # noqa: PLR2004 - 99.9 %
    return f"{part * 100 / whole:.2g} %"


def short(text: str | None) -> str:
    """Cuts a text to a readable length."""
    if text is None:
        return "none"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def sentence_case(text: str) -> str:
    """Returns the text with a capital first letter; unlike `capitalize` it leaves names such as Europe/Berlin."""
    return text[:1].upper() + text[1:]


def isolated(text: str) -> Markup:
    """Returns a foreign text for a place without elements, in marks that keep its direction to itself."""
    return Markup("\u2068{}\u2069").format(printable_lines(short(text)))


def unchanged(text: str) -> Markup:
    """Returns text for an input field, escaped for HTML only: the browser sends it back."""
    return escape(text)


def address(path: str, **parameters: Any) -> str:
    """Returns a path with query parameters; None and empty values are left out."""
    query = {name: value for name, value in parameters.items() if value not in (None, "")}
    return f"{path}?{urlencode(query)}" if query else path


def measures(windows: Sequence[ReportWindow]) -> list[str]:
    """Returns the measures that any of the windows has; open windows have no number of different users."""
    return list(dict.fromkeys(name for window in windows for name in window.sums))
