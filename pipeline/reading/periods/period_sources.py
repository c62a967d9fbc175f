"""Which reports of a warehouse answer which question, and how far each is published. Pure; times are milliseconds."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.reports import KEYS, Report
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.reading.periods.tiling import WindowLevel, tumbles

ENTRY_PAGE: Final = "entry_page"
EXIT_PAGE: Final = "exit_page"
COUNTS: Final = (c.PAGE_VIEWS, c.CLICKS)
"""The counts of events that figures of windows need."""
_OF_VISITS: Final = (*COUNTS, c.DURATION_MS, c.BOUNCED)


@dataclass(frozen=True, slots=True)
class ReportProgress:
    """How far the table of a report can be relied on."""

    batch: int
    """The table has the windows that the committed batches up to this batch made due."""
    until: int
    """The watermark of that batch: windows that end at or before it have fired."""
    closed: int
    """Windows that end at or before it are final."""
    since: int = 0
    """Earlier times are unknown: rows were removed by age, or the report was added later."""


@dataclass(frozen=True, slots=True)
class Visits:
    """The report of visits, which are sessions of users."""

    report: Report
    progress: ReportProgress

    @property
    def gap_ms(self) -> int:
        """The time without an event after which a visit ends."""
        windows = self.report.windows
        assert isinstance(windows, Sessions)  # noqa: S101 - `_visits` selects them
        return windows.gap_ms

    @property
    def texts(self) -> list[str]:
        """The measures that are texts, such as the entry page."""
        texts = [measure for measure in self.report.field_measures if measure.function.is_of_text]
        return [measure.name for measure in texts if not measure.function.is_of_sketch]


@dataclass(frozen=True, slots=True)
class Sources:
    """The reports by the question that they answer; windows of each list tumble.

    Of equal windows each list has the report with the fewest keys first, and then those that are known for longer.
    """

    site: Sequence[WindowLevel]
    """Page views and clicks."""
    pages: Sequence[WindowLevel]
    users: Sequence[WindowLevel]
    site_sketches: Sequence[WindowLevel]
    """Estimates of different users."""
    page_sketches: Sequence[WindowLevel]
    further: Mapping[str, Sequence[WindowLevel]]
    """By dimension."""
    visits: Visits | None
    totals: ReportProgress | None
    """Of `user_totals`, if it has every user since the first event."""
    beginning: int | None
    """The start of the first window with an event; None before the first event."""
    watermark: int | None
    committed_at: int | None
    """When the newest batch was committed, by the service's clock."""
    reports: Sequence[Report] = ()
    """All reports of the service."""
    knows_first: bool = True
    """Whether `beginning` is that of the first event of all: not if each report lacks earlier rows."""
    timed: Sequence[Report] = ()
    """The reports with page views and clicks in windows that tumble."""
    progress: Mapping[str, ReportProgress] = field(default_factory=dict)
    """By the name of the report."""

    def with_keys(self, keys: Collection[str], measure: str = "", listed: str = "") -> list[WindowLevel]:
        """Returns the levels whose rows have each value of these keys, and the measure; rather without further keys.

        A value of a dimension with a `top` may be in the row of all others, where it would count as 0: rows have such a
        dimension as a key only if its values are `listed`.
        """
        found = [
            report
            for report in self.timed
            if {*keys} <= {*report.keys} - {each.name for each in report.limited if each.name != listed}
            and (not measure or measure in report.measures)
        ]
        exact = [report for report in found if len(report.keys) == len(keys)]
        return _levels(exact or found, self.progress)

    def known_since(self, report: str) -> int:
        """Returns the time (ms) since which all windows of a report are known whole; 0 without progress."""
        progress = self.progress.get(report)
        first = self.beginning if self.knows_first and self.beginning is not None else 0
        return 0 if progress is None else max(progress.since, first)

    def too_late_at(self, time: int) -> int | None:
        """Returns the watermark at which an event with this time counts nowhere; None if there is no such watermark."""
        at = max((report.windows.latest_end(time) + report.allowed_lateness_ms for report in self.reports), default=0)
        return at if all(report.windows.by_time for report in self.reports) else None


def sources_of(
    reports: Sequence[Report],
    progress: Mapping[str, ReportProgress],
    totals: ReportProgress | None,
    beginning: int | None,
    watermark: int | None,
    committed_at: int | None,
    *,
    knows_first: bool = True,
) -> Sources:
    """Returns the sources among `reports`, with the progress of each by name; reports without progress are left out."""
    known = [report for report in reports if report.name in progress and not report.where]
    timed = [report for report in known if tumbles(report) and {*COUNTS} <= {*report.measures}]
    dimensions = {report.keys[0] for report in timed if len(report.keys) == 1} - {*KEYS}

    def levels(is_wanted: Callable[[Report], bool]) -> list[WindowLevel]:
        return _levels(filter(is_wanted, timed), progress)

    def has_sketches(report: Report) -> bool:
        return c.UNIQUE_USERS in report.measures

    return Sources(
        site=levels(lambda _: True),
        pages=levels(lambda report: report.keys == (c.PAGE_URL,)),
        users=levels(lambda report: report.keys == (c.USER_ID,)),
        site_sketches=levels(lambda report: not report.keys and has_sketches(report)),
        page_sketches=levels(lambda report: report.keys == (c.PAGE_URL,) and has_sketches(report)),
        further={key: _levels((r for r in timed if r.keys == (key,)), progress) for key in sorted(dimensions)},
        visits=_visits(known, progress),
        totals=totals,
        beginning=beginning,
        watermark=watermark,
        committed_at=committed_at,
        reports=reports,
        knows_first=knows_first,
        timed=timed,
        progress=progress,
    )


def _levels(reports: Iterable[Report], progress: Mapping[str, ReportProgress]) -> list[WindowLevel]:
    """Returns levels of each kind of windows: with the fewest keys, and those with more that are known for longer."""
    best: dict[object, list[Report]] = {}
    for report in sorted(reports, key=lambda report: (len(report.keys), progress[report.name].since)):
        alike = best.setdefault(report.windows, [])
        if not alike or progress[report.name].since < progress[alike[-1].name].since:
            alike.append(report)
    return [
        WindowLevel(report, progress[report.name].since, progress[report.name].until, progress[report.name].closed)
        for alike in best.values()
        for report in alike
    ]


def _visits(reports: Sequence[Report], progress: Mapping[str, ReportProgress]) -> Visits | None:
    """Returns the report of visits: sessions of users with durations, rather one with entry and exit pages."""
    found = [
        report
        for report in reports
        if isinstance(report.windows, Sessions) and report.keys == (c.USER_ID,) and {*_OF_VISITS} <= {*report.measures}
    ]
    best = max(found, key=lambda report: len({ENTRY_PAGE, EXIT_PAGE} & {*report.measures}), default=None)
    return Visits(best, progress[best.name]) if best else None
