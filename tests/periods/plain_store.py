"""Tables in plain Python: the rows of windows that have fired, from the events that each report accepted."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from statistics import mean, median

from tests.periods.raw_case import Raw, RawCase, Visit
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.lateness import closed_until
from tidemark.pipeline.reading.periods.filters import Only
from tidemark.pipeline.reading.periods.period_sources import ReportProgress, Sources, Visits, sources_of
from tidemark.pipeline.reading.periods.store import Runs, Top, VisitSums
from tidemark.pipeline.reading.periods.tiling import WindowLevel, tumbles

Row = tuple[int, int, Raw]
"""Start and end of a window, and an event that it counts."""


class PlainStore:
    """Answers from the rows of a case."""

    def __init__(self, case: RawCase) -> None:
        self._case = case
        self._rows = {report.name: self._published(report.name) for report in case.reports if tumbles(report)}

    @property
    def sources(self) -> Sources:
        """The progress of each report, without a delay of publication."""
        case = self._case
        watermark = rules.as_number(case.watermark)
        progress = {
            report.name: ReportProgress(
                1, watermark, closed_until(report, case.watermark), case.since.get(report.name, 0)
            )
            for report in case.reports
        }
        first, knows_first = self._beginning()
        return sources_of(case.reports, progress, None, first, case.watermark, None, knows_first=knows_first)

    def _beginning(self) -> tuple[int | None, bool]:
        """Returns the start of the first window with an event, and whether a report has it that knows every time."""
        whole = [name for name in self._rows if name not in self._case.since and not self._case.report(name).where]
        firsts = {
            name: min(start for start, _, _ in rows)
            for name, rows in self._rows.items()
            if rows and not self._case.report(name).where
        }
        timed = [firsts[name] for name in whole if name in firsts]
        return max(timed, default=min(firsts.values(), default=None)), bool(timed) or not firsts

    def sums(self, runs: Runs, only: Only) -> dict[str, int]:
        return _counts([event for _, _, event in self._of(runs, only)])

    def by_window(self, level: WindowLevel, start: int, end: int, only: Only) -> dict[int, int]:
        rows = [row for row in self._rows[level.report.name] if start <= row[0] and row[1] <= end]
        rows = [row for row in rows if only.get("page_url") in (None, row[2].page)]
        return {at: sum(not event.is_click for _, to, event in rows if to == at) for at in {row[1] for row in rows}}

    def has_more_users(self, runs: Runs, than: int) -> bool:
        return len({(start, end, event.user) for start, end, event in self._of(runs, {})}) > than

    def users(self, runs: Runs, only: Only) -> int:
        return len({event.user for _, _, event in self._of(runs, only)})

    def users_by_bar(self, bars: Sequence[Runs]) -> list[int]:
        return [self.users(bar, {}) for bar in bars]

    def estimate(self, runs: Runs, only: Only) -> int:
        return len({event.user for _, _, event in self._of(runs, only)})

    def estimates(self, runs: Runs, pages: Collection[str]) -> dict[str, int]:
        return {page: self.estimate(runs, {"page_url": page}) for page in pages}

    def top(self, runs: Runs, key: str, most: int, only: Only) -> Top:
        events = [event for _, _, event in self._of(runs, only)]
        name = {"user_id": "user", "page_url": "page"}[key]
        values = {getattr(event, name) for event in events}
        rows = {value: _counts([event for event in events if getattr(event, name) == value]) for value in values}
        ordered = sorted(rows.items(), key=lambda row: (-row[1]["page_views"], -row[1]["clicks"], row[0]))
        return Top(ordered[:most], _counts(events), len(rows))

    def visits(self, visits: Visits, start: int, end: int, only: Only) -> VisitSums:
        began, watermark = self._began(visits, start, end, only), rules.as_number(self._case.watermark)
        ended = [visit for visit in began if visit.end <= watermark]
        durations = [visit.duration_ms for visit in ended]
        return VisitSums(
            visits=len(began),
            going=len(began) - len(ended),
            bounced=sum(visit.bounced for visit in ended),
            median_s=median(durations) / 1000 if durations else None,
            mean_s=mean(durations) / 1000 if durations else None,
            unfinal=sum(visit.end > visits.progress.closed for visit in began),
            last_end=max((visit.end for visit in began), default=0),
        )

    def top_visits(
        self,
        visits: Visits,
        texts: Sequence[str],
        span: tuple[int, int],
        most: int,
        only: Only,
        ended: Collection[str],
    ) -> Mapping[str, Top]:
        watermark, found = rules.as_number(self._case.watermark), dict[str, Top]()
        for text in texts:
            began = [v for v in self._began(visits, *span, only) if text not in ended or v.end <= watermark]
            counts = Counter(visit.entry if text == "entry_page" else visit.exit for visit in began)
            rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
            listed = [(key, {"visits": count}) for key, count in rows[:most]]
            found[text] = Top(listed, {"visits": len(began)}, len(rows))
        return found

    def new_users(self, start: int, end: int) -> int:
        raise AssertionError((start, end))

    def _began(self, visits: Visits, start: int, end: int, only: Only) -> list[Visit]:
        every = self._case.visits(visits.report)
        return [
            visit for visit in every if start <= visit.start < end and only.get("entry_page") in (None, visit.entry)
        ]

    def _of(self, runs: Runs, only: Only) -> list[Row]:
        return [
            row
            for run in runs
            for row in self._rows[run.level.report.name]
            if run.start <= row[0] and row[1] <= run.end and only.get("page_url") in (None, row[2].page)
        ]

    def _published(self, name: str) -> list[Row]:
        report, watermark = self._case.report(name), rules.as_number(self._case.watermark)
        return [
            (window.start, window.end, event)
            for event in self._case.events_of(report)
            for window in report.windows.of(event.time)
            if event.is_in_time(window.end, report.allowed_lateness_ms)
            and window.end <= watermark
            and window.start >= self._case.since.get(name, 0)
            and (not report.where or event.is_click)
        ]


def _counts(events: Sequence[Raw]) -> dict[str, int]:
    clicks = sum(event.is_click for event in events)
    return {"page_views": len(events) - clicks, "clicks": clicks}
