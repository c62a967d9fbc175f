"""A report: which events it takes, by which keys, in which windows, and how late they may be."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.time import rules
from pipeline.time.calendar import Calendar
from pipeline.time.counts import Counts
from pipeline.time.grid import Grid
from pipeline.time.sessions import Sessions
from pipeline.time.totals import Totals

Periodic = Grid | Calendar
"""Windows whose ends are known from the clock alone."""


@dataclass(frozen=True, slots=True)
class Report:
    """A result table over the stream. Times in milliseconds."""

    name: str
    windows: Periodic | Sessions | Counts | Totals
    allowed_lateness_ms: int
    keys: tuple[str, ...] = ("user_id",)
    """Of `user_id`, `page_url` and `event_type`; none for one row per window."""
    where: str = ""
    """SQL over an event's fields; only events for which it holds belong to the report."""
    unique_users: bool = False
    """Whether it counts the different users, too."""

    @property
    def parted_by(self) -> tuple[str, ...]:
        """By what its panes are kept: the keys, and the user where different users are counted."""
        return tuple(sorted({*self.keys, "user_id"})) if self.unique_users else self.keys

    def cutoff(self, watermark: int | None) -> int:
        """Events before this time are too late: every window they would belong to has closed."""
        frontier = rules.NO_WATERMARK if watermark is None else watermark
        return self.windows.earliest_after(frontier - self.allowed_lateness_ms)

    def too_late_at(self, time: int) -> int:
        """The watermark at which an event becomes too late: then the last window that it would belong to closes."""
        return self.windows.latest_end(time) + self.allowed_lateness_ms


def too_late_at(reports: Sequence[Report], time: int) -> int:
    """The watermark at which an event becomes too late for every report."""
    return max(report.too_late_at(time) for report in reports if not isinstance(report.windows, Totals))


def cutoffs(reports: Sequence[Report], watermark: int | None) -> tuple[int, int]:
    """Events before the first are too late for every report, those before the second for some.

    Totals take what any other report takes.
    """
    found = [report.cutoff(watermark) for report in reports if not isinstance(report.windows, Totals)]
    return min(found), max(found)
