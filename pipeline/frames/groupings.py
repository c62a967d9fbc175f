"""By what the fold groups, so that one pass serves every report."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from pipeline.frames import columns as c
from pipeline.time import lateness
from pipeline.time.counts import Counts
from pipeline.time.lateness import Sql
from pipeline.time.report import Report
from pipeline.time.sessions import Sessions

KEYS = (c.USER_ID, c.PAGE_URL, c.EVENT_TYPE)
"""What a report may have as a key."""


@dataclass(frozen=True, slots=True)
class Groupings:
    """The sets of keys to group by, and the panes that all reports' panes are made of."""

    sets: tuple[tuple[str, ...], ...]
    pane_ms: int
    shift_ms: int
    flags: tuple[str, ...]
    """SQL conditions of which a group tells whether its events meet them."""

    def of(self, report: Report) -> int:
        """The set from which a report is made: the first that has all its keys; for count windows its own."""
        if isinstance(report.windows, Counts):
            return self.sets.index(_single(report))
        return next(number for number, keys in enumerate(self.sets) if set(report.grouped_by) <= set(keys))

    def fitting(self, report: Report) -> set[int]:
        """The values of the packed flags of the events that belong to a report."""
        wanted, barred = conditions(report)
        return {
            value
            for value in range(2 ** len(self.flags))
            if all(value >> self.flags.index(one) & 1 for one in wanted)
            and not any(value >> self.flags.index(one) & 1 for one in barred)
        }

    def late(self, report: Report) -> set[int]:
        """Those of events whose own window had fired before their batch began."""
        if not isinstance(report.windows, Sessions):
            return set()
        flag = self.flags.index(_fired(report.windows))
        return {value for value in self.fitting(report) if value >> flag & 1}


def groupings(reports: Sequence[Report]) -> Groupings:
    """Only the largest sets: a report whose keys are a part of another's is made from that one's groups."""
    single = {_single(report) for report in reports if isinstance(report.windows, Counts)}
    wanted = {report.grouped_by for report in reports if not isinstance(report.windows, Counts)}
    sets = sorted(keys for keys in wanted if not any(set(keys) < set(other) for other in wanted)) + sorted(single)
    pane_ms = gcd(*(report.pane_ms for report in reports)) or 1
    offsets = {report.windows.shift_ms for report in reports}
    pane_ms = gcd(pane_ms, *(one - other for one in offsets for other in offsets))
    flags = {flag for report in reports for side in conditions(report) for flag in side}
    flags |= {_fired(report.windows) for report in reports if isinstance(report.windows, Sessions)}
    return Groupings(tuple(sets), pane_ms, min(offsets) % pane_ms, tuple(sorted(flags)))


def _single(report: Report) -> tuple[str, ...]:
    """Every event by itself."""
    return (*report.keys, c.PLACE)


def conditions(report: Report) -> tuple[set[str], set[str]]:
    """What must hold and what must not hold of an event that belongs to a report, beside its pane."""
    wanted = {report.where} if report.where else set[str]()
    return wanted, {_closed(report)} if isinstance(report.windows, Sessions) else set()


def _fired(sessions: Sessions) -> str:
    return str(lateness.has_fired(Sql(c.TIME) + sessions.gap_ms, Sql(c.WATERMARK)))


def _closed(report: Report) -> str:
    assert isinstance(report.windows, Sessions)  # noqa: S101 - for the type checker
    own_end = Sql(c.TIME) + report.windows.gap_ms
    return str(lateness.is_closed(own_end, lateness.closed_until_sql(report, c.WATERMARK)))
