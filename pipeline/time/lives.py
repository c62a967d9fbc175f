"""The windows of every report, side by side."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from pipeline.time import rules
from pipeline.time.counts import Counts
from pipeline.time.report import Periodic, Report
from pipeline.time.sessions import Sessions
from pipeline.time.totals import Totals
from pipeline.time.windows import CountLife, Due, SessionLife, TotalLife, Windows

Dues = Mapping[str, Due]
"""What is due of each report, by its name; a report of which nothing is due is not in it."""


class Lives:
    """What each report's windows have come to."""

    def __init__(self, reports: Sequence[Report]) -> None:
        self._reports = {report.name: report for report in reports}
        self._lives = {report.name: _life(report) for report in reports}

    def restore(
        self, name: str, panes: Iterable[int], published_batch: int, watermarks: Collection[tuple[int, int]]
    ) -> None:
        """A report as the tables tell of it: its panes, the batch last published, all (watermark, batch) in order."""
        report = self._reports[name]
        lateness = report.allowed_lateness_ms
        published = reached_by(published_batch, watermarks)
        if isinstance(report.windows, Counts):
            self._lives[name] = CountLife(published_batch)
            return
        if isinstance(report.windows, Sessions):
            self._lives[name] = SessionLife.restored(lateness, published, watermarks)
            return
        if isinstance(report.windows, Totals):
            # What has come since they were last written is not known.
            self._lives[name] = TotalLife(report.windows.every_ms, stale=True)
            return
        known = {end for end in _ends(panes, report.windows) if not rules.has_closed(end, published, lateness)}
        self._lives[name] = Windows.restored(report.windows, lateness, known, watermarks)

    def after_batch(self, panes: Collection[int], before: int | None, after: int | None, batch: int) -> Dues:
        """What a batch makes due that counted events in `panes` and moved the watermark."""
        dues = {}
        for name, life in self._lives.items():
            if isinstance(life, CountLife):
                dues[name] = life.after_batch(batch, counted=bool(panes))
            elif isinstance(life, SessionLife):
                dues[name] = life.after_batch(before, after, batch, counted=bool(panes))
            elif isinstance(life, TotalLife):
                dues[name] = life.after_batch(before, after, counted=bool(panes))
            else:
                counted = _ends(panes, life.windows)
                near = _ends(_followed(panes, self._reports[name]), life.windows)
                dues[name] = life.after_batch(counted, before, after, batch, near)
        return dues

    def at_start(self, watermark: int | None) -> Dues:
        """What a start publishes again: all that has fired and is not known to be closed and published."""
        return {
            name: life.at_start() if isinstance(life, CountLife) else life.at_start(watermark)
            for name, life in self._lives.items()
        }


def reached_by(batch: int, watermarks: Iterable[tuple[int, int]]) -> int:
    """The watermark after a batch, given each watermark and the first batch that reached it."""
    return max((watermark for watermark, first in watermarks if first <= batch), default=rules.NO_WATERMARK)


def _ends(panes: Iterable[int], windows: Periodic) -> set[int]:
    return {end for pane in {windows.pane_start(pane) for pane in panes} for end in windows.ends(pane)}


def _followed(panes: Iterable[int], report: Report) -> set[int]:
    """Panes in which a session may no longer begin, now that there are events in `panes`."""
    if not report.session_gap_ms:
        return set()
    step, gap_ms = report.pane_ms, report.session_gap_ms
    return {after for pane in panes for after in range(pane + step, pane + gap_ms + 1, step)}


def _life(report: Report) -> Windows | SessionLife | CountLife | TotalLife:
    if isinstance(report.windows, Counts):
        return CountLife()
    if isinstance(report.windows, Totals):
        return TotalLife(report.windows.every_ms)
    if isinstance(report.windows, Periodic):
        return Windows(report.windows, report.allowed_lateness_ms)
    return SessionLife(report.allowed_lateness_ms)


def then(first: Dues, later: Dues) -> Dues:
    """Both at once: one publication may cover several batches, for it is a function of all committed panes."""
    return {name: first.get(name, Due()).then(later.get(name, Due())) for name in {**first, **later}}


def anything(dues: Dues) -> bool:
    """Whether there is anything to publish."""
    return any(dues.values())
