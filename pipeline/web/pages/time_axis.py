"""An axis of time: positions in percent of its width, and round local times as ticks. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.reading.window_names import clock_text, date_text

_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 86_400_000
_SHORT_STEPS: Final = tuple(seconds * 1000 for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600))
_CALENDAR_STEPS: Final = tuple(
    minutes * _MINUTE_MS for minutes in (15, 30, 60, 120, 180, 360, 720, 1440, 2880, 5760, 10080, 20160)
)
"""Steps whose ticks follow the local calendar."""
_WEEK_MS: Final = 7 * _DAY_MS
_TICKS: Final = 4
_DATES: Final = 4
"""Number of ticks that are dates, which are longer than times."""
_CHARACTER: Final = 2.05
"""Width of a character in percent of the narrowest picture: 7 of 345 pixels."""


class Tick(NamedTuple):
    """A time on an axis, in milliseconds."""

    time: int
    label_at: int
    """Where the label is: below `time`, or below the middle of the day if the label is a date."""
    label: str
    """The time of day, or the date; empty if it would cover the label before it."""
    day: str
    """The date of a time of day, if it is new on the axis and there is room for it."""


class Span(NamedTuple):
    """Where a text is on an axis, in percent of its width."""

    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Axis:
    """A span of time, in milliseconds, and the zone of its labels."""

    left: int
    right: int
    zone: tzinfo = UTC

    def at(self, time: int) -> float:
        """Returns the position of a time in percent; times off the axis are at the edge."""
        return round(min(max((time - self.left) * 100 / (self.right - self.left), 0.0), 100.0), 2)

    @property
    def ticks(self) -> list[Tick]:
        """A few round local times on the axis; its left end if no round time is on it."""
        span = self.right - self.left
        steps = (*_SHORT_STEPS, *_CALENDAR_STEPS)
        longest = -(-span // _DATES // _WEEK_MS) * _WEEK_MS
        step = next((step for step in steps if span / step <= (_TICKS if step < _DAY_MS else _DATES)), longest)
        last = self.right - (step >= _DAY_MS)  # a day that starts at the right end is not on the axis
        times = [time for time in self._round_times(step) if self.left <= time <= last]
        return list(self._labelled(times or [self.left], step))

    def _round_times(self, step: int) -> Iterator[int]:
        if step in _SHORT_STEPS:
            offset = datetime.fromtimestamp(self.left / 1000, self.zone).utcoffset() or timedelta()
            past = (self.left + offset // timedelta(milliseconds=1)) % step
            yield from range(self.left - past, self.right + 1, step)
            return
        windows, time = Calendar(step, str(self.zone)), self.left
        while time <= self.right:
            start, time = windows.window(time)
            yield start
        yield time

    def anchor(self, tick: Tick) -> str:
        """Returns the `text-anchor` of the texts of a tick, by which they do not leave the picture."""
        at, half = self.at(tick.label_at), max(len(tick.label), len(tick.day)) * _CHARACTER / 2
        return "start" if at < half else "end" if at > 100 - half else "middle"

    def span(self, tick: Tick, text: str) -> Span:
        """Returns where a text of a tick is if the picture is as narrow as on a phone."""
        width = len(text) * _CHARACTER
        before = {"start": 0.0, "middle": width / 2, "end": width}[self.anchor(tick)]
        left = self.at(tick.label_at) - before
        return Span(left, left + width)

    def _labelled(self, times: list[int], step: int) -> Iterator[Tick]:
        """Yields ticks whose texts do not cover those before them: a date without room is at the next tick."""
        day, label_end, day_end = "", 0.0, 0.0
        for time in times:
            date = date_text(time, self.zone)
            if step % _DAY_MS == 0:
                tick = Tick(time, time + _DAY_MS // 2, date, "")
            else:
                precision = "seconds" if step < _MINUTE_MS else "minutes"
                tick = Tick(time, time, clock_text(time, self.zone, precision), "" if date == day else date)
            if tick.day and self.span(tick, tick.day).left < day_end:
                tick = tick._replace(day="")
            if self.span(tick, tick.label).left < label_end:
                tick = tick._replace(label="")
            if tick.label:
                label_end = self.span(tick, tick.label).right
            if tick.day:
                day, day_end = date, self.span(tick, tick.day).right
            yield tick
