"""The public form of an answer: an object for JSON, which docs/dashboard.md documents."""

from typing import Any, Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.reading.periods.figures import Bar, Breakdown, Compared, Coverage, Figure, FigureState
from tidemark.pipeline.reading.periods.period import Period
from tidemark.pipeline.reading.periods.period_traffic import PeriodTraffic
from tidemark.pipeline.reading.periods.reasons import iso

ERROR: Final = 0.016
"""The relative standard error of estimated visitors."""
BAR_STATES: Final = ("state", "covered_from", "covered_until")
"""The members with the state of a bar's page views; those of its visitors start with `visitors_`."""
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
            "page_url": traffic.question.only.get(c.PAGE_URL),
            "filters": dict(traffic.question.only),
            **_coverage(traffic.coverage, period),
            "final_until": _iso(traffic.final_until, period)
            if traffic.coverage.state is not FigureState.UNKNOWN
            else None,
            "watermark": _iso(traffic.sources.watermark, period),
            "committed_at": _iso(traffic.sources.committed_at, period),
        },
        "figures": {name: _figure(figure, period) for name, figure in traffic.figures.items()},
        "series": [_bar(bar, period) for bar in traffic.series],
        "breakdowns": {name: _breakdown(breakdown, period) for name, breakdown in traffic.breakdowns.items()},
    }


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
        **{name: views[name] for name in BAR_STATES},
        **{f"visitors_{name}": visitors[name] for name in BAR_STATES},
    }


def _breakdown(breakdown: Breakdown, period: Period) -> Json:
    overlap = {"visitors": "estimates, and a visitor may be in several rows"} if breakdown.has_overlap else {}
    about = (
        dict.fromkeys(breakdown.rest, "at least: windows have only the largest values") if breakdown.is_about else {}
    )
    return {
        "rows": [{"key": row.key, **row.values} for row in breakdown.rows],
        "rest": dict(breakdown.rest),
        "rest_rows": breakdown.rest_rows,
        **({"overlap": overlap} if overlap else {}),
        **({"about": about} if about else {}),
        **_coverage(breakdown.coverage, period),
    }


def _iso(instant: int | None, period: Period) -> str | None:
    return None if instant is None else iso(instant, period)
