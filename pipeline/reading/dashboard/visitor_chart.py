"""The chart of the first page: bars, the line of the compared period, and the time without numbers. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from tidemark.command_line.counts import counted
from tidemark.pipeline.instants import moment
from tidemark.pipeline.reading.periods.figures import Bar, FigureState
from tidemark.pipeline.reading.periods.local_days import local_date
from tidemark.pipeline.reading.periods.period import Period
from tidemark.pipeline.reading.periods.period_traffic import PeriodTraffic

_HEIGHT: Final = 120
_BASE: Final = 138
"""The line on which bars stand, in pixels from the top."""
_GAP: Final = 0.08
"""Of the width of a bar, on each side."""
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
    """`final`, `complete`, `so-far` or `unknown`."""
    before: int | None
    """Page views of the same time in the compared period."""
    before_y: float | None

    @property
    def before_text(self) -> str:
        """The number before; that of a whole bar, which a bar that is not complete does not equal, says so."""
        if self.before is None:
            return "unknown"
        return f"{self.before:,}{' in all of it' if self.state == 'so-far' else ''}"

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
    unfinished: float | None
    """Where the time starts that is not complete, in percent; None if all is."""

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
    until = traffic.coverage.until
    is_open = traffic.coverage.state is FigureState.SO_FAR
    span = period.end - period.start
    return VisitorChart(
        left=period.start,
        right=period.end,
        unit="hour" if bars[0].end - bars[0].start <= _HOUR_MS * 2 else "day",
        tallest=tallest,
        bars=[_drawn(bar, views, period, tallest) for bar, views in zip(bars, compared, strict=True)],
        unfinished=round(100 * (until - period.start) / span, 2) if is_open else None,
    )


def _places(bars: Sequence[Bar], period: Period) -> Iterator[tuple[tuple[int, str], int | None]]:
    """Yields the day and local time of each bar, and its page views; times that come twice have none."""
    first: date = local_date(bars[0].start, period.zone)
    places = [
        ((local_date(bar.start, period.zone) - first).days, f"{moment(bar.start).astimezone(period.zone):%H:%M}")
        for bar in bars
    ]
    for place, bar in zip(places, bars, strict=True):
        is_whole = bar.coverage.state is not FigureState.SO_FAR
        yield place, bar.page_views if is_whole and places.count(place) == 1 else None


def _drawn(bar: Bar, before: int | None, period: Period, tallest: int) -> DrawnBar:
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
        before=before,
        before_y=None if before is None else round(_BASE - _HEIGHT * max(before, 0) / tallest, 1),
    )
