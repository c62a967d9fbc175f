"""The public forms of an answer: an object for JSON, and rows for CSV. docs/dashboard.md documents both."""

import csv
import io
from collections.abc import Iterator
from typing import Any, Final

from tidemark.pipeline.reading.periods.figures import Bar, Breakdown, Compared, Coverage, Figure, FigureState
from tidemark.pipeline.reading.periods.period import Period
from tidemark.pipeline.reading.periods.period_traffic import PeriodTraffic
from tidemark.pipeline.reading.periods.reasons import iso
from tidemark.pipeline.reading.shell_output import harmless_cell

ERROR: Final = 0.016
"""The relative standard error of estimated visitors."""
COLUMNS: Final = (
    *("part", "key", "start", "end", "measure", "value", "exact", "state", "covered_from", "covered_until"),
    *("may_change_until", "reason", "compared_value", "compared_with", "compared_start", "compared_end", "change"),
)
"""The columns of the CSV."""
_STATES: Final = ("state", "covered_from", "covered_until", "may_change_until", "reason")
_BAR_STATES: Final = ("state", "covered_from", "covered_until")
_BARS: Final = {"page_views": "", "visitors": "visitors_"}
"""The numbers of a bar, and the prefix of the members with their state."""
Json = dict[str, Any]


def as_json(traffic: PeriodTraffic) -> Json:
    """Returns the object of `/traffic.json`; times are ISO texts with the offset of the period's zone."""
    period = traffic.question.period
    return {
        "period": {
            "start": iso(period.start, period),
            "end": iso(period.end, period),
            "zone": period.zone.key,
            "compare": traffic.question.compare,
            "page_url": traffic.question.page_url or None,
            **_coverage(traffic.coverage, period),
            "final_until": _iso(traffic.final_until, period)
            if traffic.coverage.state is not FigureState.UNKNOWN
            else None,
            "watermark": _iso(traffic.watermark, period),
            "committed_at": _iso(traffic.committed_at, period),
        },
        "figures": {name: _figure(figure, period) for name, figure in traffic.figures.items()},
        "series": [_bar(bar, period) for bar in traffic.series],
        "breakdowns": {name: _breakdown(breakdown, period) for name, breakdown in traffic.breakdowns.items()},
    }


def as_csv(traffic: PeriodTraffic) -> str:
    """Returns the CSV of `/traffic.csv`: a line for each number, harmless to spreadsheets."""
    text = io.StringIO()
    rows = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    rows.writeheader()
    for row in _rows(as_json(traffic)):  # before they are written: a page may have any kind of line break
        rows.writerow({name: harmless_cell(value) if isinstance(value, str) else value for name, value in row.items()})
    return text.getvalue()


def _rows(answer: Json) -> Iterator[Json]:
    period = _bounds(answer["period"])
    for name, figure in answer["figures"].items():
        yield from _figure_rows(name, figure, period)
    for bar in answer["series"]:
        for name, prefix in _BARS.items():
            states = {key: bar[f"{prefix}{key}"] for key in _BAR_STATES}
            yield {"part": "series", "measure": name, "value": bar[name], **_bounds(bar), **states}
    for name, breakdown in answer["breakdowns"].items():
        yield from _breakdown_rows(breakdown, {"part": name, **period, **{key: breakdown[key] for key in _STATES}})


def _bounds(span: Json) -> Json:
    return {name: span[name] for name in ("start", "end")}


def _breakdown_rows(breakdown: Json, shared: Json) -> Iterator[Json]:
    for listed in breakdown["rows"]:
        numbers = {measure: value for measure, value in listed.items() if measure != "key"}
        for measure, value in numbers.items():
            exact = {"exact": "false"} if measure in breakdown.get("overlap", {}) else {}
            yield {**shared, **exact, "key": listed["key"], "measure": measure, "value": value}
    if breakdown["rest_rows"]:
        for measure, value in breakdown["rest"].items():
            yield {**shared, "measure": f"{measure}.rest", "value": value}


def _figure_rows(name: str, figure: Json, period: Json) -> Iterator[Json]:
    compared = figure["compared"] or {}
    sides = {f"compared_{key}": compared.get(key) for key in ("value", "with", "start", "end")}
    row = {**period, **{key: figure[key] for key in _STATES}, "part": "figure", "exact": str(figure["exact"]).lower()}
    yield {**row, "measure": name, "value": figure["value"], **sides, "change": compared.get("change")}
    for more in ("mean", "still_going"):
        if more in figure:
            yield {**row, "measure": f"{name}.{more}", "value": figure[more]}


def _figure(figure: Figure, period: Period) -> Json:
    estimate = {} if figure.is_exact else {"error": ERROR}
    return {
        "value": figure.value,
        "exact": figure.is_exact,
        **estimate,
        **figure.more,
        **_coverage(figure.coverage, period),
        "compared": _compared(figure.compared, period),
    }


def _compared(compared: Compared | None, period: Period) -> Json | None:
    if compared is None:
        return None
    is_known = compared.state is not FigureState.UNKNOWN
    return {
        "value": compared.value,
        "start": iso(compared.start, period),
        "end": iso(compared.end, period),
        "state": compared.state,
        "with": compared.own,
        "until": iso(compared.own_end, period) if is_known else None,
        "change": compared.change,
        "reason": compared.reason or None,
    }


def _coverage(coverage: Coverage, period: Period) -> Json:
    is_known = coverage.state is not FigureState.UNKNOWN
    return {
        "state": coverage.state,
        "covered_from": iso(coverage.start, period) if is_known else None,
        "covered_until": iso(coverage.until, period) if is_known else None,
        "may_change_until": _iso(coverage.may_change_until, period),
        "reason": coverage.reason or None,
    }


def _bar(bar: Bar, period: Period) -> Json:
    views, visitors = (_coverage(coverage, period) for coverage in (bar.coverage, bar.of_visitors))
    return {
        "start": iso(bar.start, period),
        "end": iso(bar.end, period),
        "page_views": bar.page_views,
        "visitors": bar.visitors,
        **{name: views[name] for name in _BAR_STATES},
        **{f"visitors_{name}": visitors[name] for name in _BAR_STATES},
    }


def _breakdown(breakdown: Breakdown, period: Period) -> Json:
    overlap = {"visitors": "estimates, and a visitor may be in several rows"} if breakdown.has_overlap else {}
    return {
        "rows": [{"key": row.key, **row.values} for row in breakdown.rows],
        "rest": dict(breakdown.rest),
        "rest_rows": breakdown.rest_rows,
        **({"overlap": overlap} if overlap else {}),
        **_coverage(breakdown.coverage, period),
    }


def _iso(instant: int | None, period: Period) -> str | None:
    return None if instant is None else iso(instant, period)
