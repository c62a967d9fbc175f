"""The chart of the first page: bars, the line of the compared period, and the time without numbers. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from tidemark.command_line.counts import counted
from tidemark.pipeline.instants import moment
from tidemark.pipeline.reading.periods.figures import Bar, Coverage, FigureState
from tidemark.pipeline.reading.periods.local_days import local_date
from tidemark.pipeline.reading.periods.period import Period
from tidemark.pipeline.reading.periods.period_traffic import PeriodTraffic
from tidemark.pipeline.web.dashboard.reader_times import Times

_HEIGHT: Final = 120
_BASE: Final = 138
"""The line on which bars stand, in pixels from the top."""
_GAP: Final = 0.08
"""Share of the width of a bar that is left free on each side."""
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class DrawnBar:
    """A bar: positions in percent of the width, heights in pixels."""

    bar: Bar
    name: str
    x: float
    width: float
    y: float
    height: float
    state: str
    """`final`, `complete`, `so-far`, `partial` or `unknown`."""
    state_text: str
    """The state, and the time that the bar covers if it is not all of it."""
    visitors_text: str
    """The state of the visitors if it is not that of the page views; else empty."""
    before: int | None
    """Page views of the same time in the compared period."""
    before_y: float | None

    @property
    def before_text(self) -> str:
        """The number before; that of a whole bar, next to a bar that covers less, says so."""
        if self.before is None:
            return "unknown"
        return f"{self.before:,}{'' if self.is_whole else ' in all of it'}"

    @property
    def is_whole(self) -> bool:
        """Whether the bar covers all of its time."""
        return _is_whole(self.bar)

    @property
    def middle(self) -> float:
        """The middle of the bar."""
        return round(self.x + self.width / 2, 2)


@dataclass(frozen=True, slots=True)
class VisitorChart:
    """The drawn series."""

    left: int
    right: int
    unit: str
    """`hour` or `day`."""
    tallest: int
    bars: list[DrawnBar]
    gaps: list[tuple[float, float]]
    """Start and width of the times without numbers, in percent: before and after the time that is covered."""

    @property
    def is_partial(self) -> bool:
        """Whether a part of some bar will never be known."""
        return any(bar.state == "partial" for bar in self.bars)

    @property
    def lines(self) -> list[tuple[DrawnBar, DrawnBar]]:
        """Neighbours between which the compared line is drawn."""
        pairs = zip(self.bars, self.bars[1:], strict=False)
        return [(one, two) for one, two in pairs if one.before_y is not None and two.before_y is not None]

    @property
    def known(self) -> list[DrawnBar]:
        """The bars with numbers."""
        return [bar for bar in self.bars if bar.bar.page_views is not None]

    @property
    def sentence(self) -> str:
        """Describes the chart for people who do not see it."""
        shown = f"Page views by {self.unit}: {counted(len(self.known), self.unit)} with numbers"
        return f"{shown}, at most {self.tallest:,}; the table below has each."


def visitor_chart(traffic: PeriodTraffic, before: Sequence[Bar]) -> VisitorChart:
    """Returns the chart of an answer; `before` is the series of the compared period.

    Bars are compared by their day of the period and their local time, which comes twice when clocks are put back.
    """
    period, bars = traffic.question.period, traffic.series
    others = dict(_places(before, period)) if before else {}
    compared = [others.get(place) for place, _ in _places(bars, period)]
    numbers = [bar.page_views or 0 for bar in bars] + [views or 0 for views in compared]
    tallest = max(*numbers, 1)
    times = Times(period)
    return VisitorChart(
        left=period.start,
        right=period.end,
        unit="hour" if bars[0].end - bars[0].start <= _HOUR_MS * 2 else "day",
        tallest=tallest,
        bars=[_drawn(bar, views, times, tallest) for bar, views in zip(bars, compared, strict=True)],
        gaps=_gaps(traffic.coverage, period),
    )


def _gaps(coverage: Coverage, period: Period) -> list[tuple[float, float]]:
    if coverage.state is FigureState.UNKNOWN:
        return []
    spans = [(period.start, coverage.start), (coverage.until, period.end)]
    percent = 100 / (period.end - period.start)
    return [
        (round(percent * (start - period.start), 2), round(percent * (end - start), 2))
        for start, end in spans
        if start < end
    ]


def _places(bars: Sequence[Bar], period: Period) -> Iterator[tuple[tuple[int, str], int | None]]:
    """Yields the day and local time of each bar, and its page views; None for times that come twice."""
    first: date = local_date(bars[0].start, period.zone)
    places = [
        ((local_date(bar.start, period.zone) - first).days, f"{moment(bar.start).astimezone(period.zone):%H:%M}")
        for bar in bars
    ]
    for place, bar in zip(places, bars, strict=True):
        yield place, bar.page_views if _is_whole(bar) and places.count(place) == 1 else None


def _is_whole(bar: Bar) -> bool:
    return bar.coverage.state in (FigureState.FINAL, FigureState.COMPLETE)


def _state_text(bar: Bar, coverage: Coverage, times: Times) -> str:
    return times.state(coverage.state, (coverage.start, coverage.until), (bar.start, bar.end))


def _drawn(bar: Bar, before: int | None, times: Times, tallest: int) -> DrawnBar:
    period, of_views = times.period, _state_text(bar, bar.coverage, times)
    of_visitors = "" if bar.visitors is None else _state_text(bar, bar.of_visitors, times)
    span = period.end - period.start
    width = 100 * (bar.end - bar.start) / span
    height = round(_HEIGHT * max(bar.page_views or 0, 0) / tallest, 1)
    local = moment(bar.start).astimezone(period.zone)
    is_hour = bar.end - bar.start <= _HOUR_MS * 2
    name = f"{local:%Y-%m-%d %H:%M}" if is_hour else f"{local:%Y-%m-%d}"
    return DrawnBar(
        bar=bar,
        name=name,
        x=round(100 * (bar.start - period.start) / span + width * _GAP, 2),
        width=round(width * (1 - 2 * _GAP), 2),
        y=_BASE - height,
        height=max(height, 0.5),
        state=bar.coverage.state.replace(" ", "-"),
        state_text=of_views,
        visitors_text="" if of_visitors == of_views else of_visitors,
        before=before,
        before_y=None if before is None else round(_BASE - _HEIGHT * max(before, 0) / tallest, 1),
    )
