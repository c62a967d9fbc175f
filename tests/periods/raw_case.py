"""Random cases of a site: events in the order in which they arrive, and what each report accepts of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from random import Random
from typing import Final
from zoneinfo import ZoneInfo

from tidemark.pipeline.event_time.field_measures import FieldMeasure, Function
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions

MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
ZONES: Final = ("Europe/Berlin", "America/New_York", "UTC", "Asia/Kolkata", "Australia/Lord_Howe", "America/Havana")
LAST_DAYS: Final = ("2024-04-01", "2024-03-11", "2024-10-28", "2024-11-04", "2024-04-08", "2024-06-12", "2025-01-02")
"""Days after clocks changed somewhere, and ordinary ones."""
PERIODS: Final = ("today", "today", "today", "yesterday", "yesterday", "7d", "month", "range")
_PAGES: Final = ("/", "/a", "/b")
_TEXTS: Final = (
    FieldMeasure("entry_page", Function.FIRST, "page_url"),
    FieldMeasure("exit_page", Function.LAST, "page_url"),
)


@dataclass(frozen=True)
class Raw:
    """An event, and the watermark before its batch (None before the first)."""

    time: int
    user: str
    page: str
    is_click: bool
    before: int | None
    is_corrected: bool = False
    """Whether it was added afterwards to the closed windows that it missed."""

    def is_in_time(self, end: int, lateness_ms: int) -> bool:
        """Whether a window with this end counts it: it had not closed before the event came, or it was corrected."""
        return self.is_corrected or self.before is None or end > self.before - lateness_ms


@dataclass(frozen=True)
class Visit:
    """A session of a user, with its events in the order of their arrival."""

    events: tuple[Raw, ...]
    gap_ms: int

    @cached_property
    def start(self) -> int:
        return min(event.time for event in self.events)

    @cached_property
    def end(self) -> int:
        return max(event.time for event in self.events) + self.gap_ms

    @property
    def duration_ms(self) -> int:
        return self.end - self.gap_ms - self.start

    @property
    def bounced(self) -> bool:
        return len(self.events) == 1 and not self.events[0].is_click

    @property
    def entry(self) -> str:
        return min((event.time, event.page) for event in self.events)[1]

    @property
    def exit(self) -> str:
        return max((event.time, event.page) for event in self.events)[1]


@dataclass(frozen=True)
class RawCase:
    """A site, and a question about it."""

    seed: int
    events: Sequence[Raw]
    watermark: int | None
    reports: Sequence[Report]
    since: dict[str, int] = field(default_factory=dict)
    """By report: windows that start before are unknown."""
    now: int = 0
    period: str = "today"
    compare: str = "none"
    zone: str = "UTC"
    page: str = ""
    erased: str = ""
    """The user whose rows were removed; empty text without an erasure."""

    def events_of(self, report: Report) -> list[Raw]:
        """The events that a report may count: an erased user is in reports without users only."""
        return [event for event in self.events if "user_id" not in report.keys or event.user != self.erased]

    def report(self, name: str) -> Report:
        return next(report for report in self.reports if report.name == name)

    def visits(self, report: Report) -> list[Visit]:
        """The sessions of a report: an event joins those of its user that it meets and that had not closed."""
        return visits_of(tuple(self.events_of(report)), report)


@lru_cache(maxsize=8)
def visits_of(events: tuple[Raw, ...], report: Report) -> list[Visit]:
    """Returns the sessions of events, those that were corrected after the others."""
    assert isinstance(report.windows, Sessions)
    gap, found = report.windows.gap_ms, list[Visit]()
    for event in sorted(events, key=lambda event: event.is_corrected):
        if not event.is_in_time(event.time + gap, report.allowed_lateness_ms):
            continue
        joined = [
            visit
            for visit in found
            if visit.events[0].user == event.user
            and visit.start <= event.time + gap
            and event.time <= visit.end
            and event.is_in_time(visit.end, report.allowed_lateness_ms)
        ]
        found = [visit for visit in found if visit not in joined]
        found.append(Visit((*(each for visit in joined for each in visit.events), event), gap))
    return found


def raw_case(seed: int) -> RawCase:
    """Returns the case of a seed."""
    random = Random(seed)
    site_zone = random.choice(ZONES)
    last = int(datetime.fromisoformat(random.choice(LAST_DAYS)).replace(tzinfo=ZoneInfo(site_zone)).timestamp() * 1000)
    reports = _reports(random, site_zone)
    events, watermark = _events(random, last)
    now = last + random.randrange(-DAY, 2 * DAY)
    if watermark is not None and random.random() < 0.8:
        now = watermark + random.choice((random.randrange(3 * HOUR), random.randrange(DAY)))
    case = RawCase(seed, events, watermark, reports, _since(random, reports, last))
    period = random.choice(PERIODS)
    if period == "range":
        first = datetime.fromtimestamp((last - random.randrange(4) * DAY) / 1000, ZoneInfo(site_zone)).date()
        final = datetime.fromtimestamp((last + random.randrange(2) * DAY) / 1000, ZoneInfo(site_zone)).date()
        period = f"{min(first, final)}..{max(first, final)}"
    case = replace(
        case,
        now=now,
        period=period,
        compare=random.choice(("none", "previous", "previous", "previous", "week", "year")),
        zone=site_zone if random.random() < 0.8 else random.choice(ZONES),
        page="/a" if random.random() < 0.15 else "",
    )
    return _amended(case, random)


def _amended(case: RawCase, random: Random) -> RawCase:
    """Returns a case with an erased user, with corrected events, or neither."""
    if case.events and random.random() < 0.2:
        case = replace(case, erased=random.choice(case.events).user)
    if random.random() < 0.3:
        case = replace(
            case, events=[replace(event, is_corrected=_is_correctable(event, case)) for event in case.events]
        )
    return case


def _is_correctable(event: Raw, case: RawCase) -> bool:
    """Whether the event missed windows of a report, and everything that it would change is closed."""
    ends = [(end, report.allowed_lateness_ms) for report in case.reports for end in _ends(event, report, case)]
    is_late = any(not event.is_in_time(end, lateness) for end, lateness in ends)
    return is_late and all(end <= (case.watermark or 0) - lateness for end, lateness in ends)


def _ends(event: Raw, report: Report, case: RawCase) -> list[int]:
    """Returns the ends of the windows of an event; of sessions of its own, and of those that it meets."""
    if not isinstance(report.windows, Sessions):
        return [window.end for window in report.windows.of(event.time)]
    gap = report.windows.gap_ms
    met = [v for v in case.visits(report) if v.events[0].user == event.user and v.start <= event.time + gap]
    return [event.time + 2 * gap, *(visit.end for visit in met if event.time <= visit.end)]


def _reports(random: Random, zone: str) -> list[Report]:
    sketches = ("page_views", "clicks", "unique_users")
    days, hours, minutes = Calendar(DAY, zone), Calendar(HOUR, zone), Grid(MINUTE, MINUTE)
    each = [
        (Report("minutes", minutes, 0, keys=()), 0.8),
        (Report("hours", hours, 0, keys=(), measures=sketches), 0.8),
        (Report("days", days, 0, keys=(), measures=sketches), 0.8),
        (Report("users_hours", hours, 0), 0.8),
        (Report("users_days", days, 0), 0.8),
        (Report("users_minutes", minutes, 0), 0.2),
        (Report("pages_hours", hours, 0, keys=("page_url",), measures=sketches), 0.8),
        (Report("pages_days", days, 0, keys=("page_url",), measures=sketches), 0.8),
        (Report("clicks_alone", minutes, 0, keys=(), where="event_type = 'click'"), 0.2),
        (
            Report(
                "visits",
                Sessions(random.choice((5, 30)) * MINUTE),
                0,
                measures=("page_views", "clicks", "duration_ms", "bounced", "entry_page", "exit_page"),
                field_measures=_TEXTS,
            ),
            0.9,
        ),
    ]
    alike = random.choice((0, MINUTE, None))
    return [
        replace(report, allowed_lateness_ms=random.choice((0, MINUTE, 90 * MINUTE)) if alike is None else alike)
        for report, share in each
        if random.random() < share
    ]


def _events(random: Random, last: int) -> tuple[list[Raw], int | None]:
    """Returns events of the days before and after `last`, in batches, and the last watermark."""
    end = last + (random.randrange(2 * HOUR) if random.random() < 0.3 else random.randrange(2 * DAY))
    begin = end - random.choice((DAY, 3 * DAY, 9 * DAY, 16 * DAY))
    count = random.choice((3, 60, 60, 150, 150)) if random.random() < 0.95 else 0
    times = sorted(random.randrange(begin, end) for _ in range(count))
    if times and random.random() < 0.3:
        times = [begin - 380 * DAY, *times, end - 1]  # a year before, and in the last minute
    users = [f"u{number}" for number in range(random.choice((1, 4, 12)))]
    arrivals = [
        time + (random.randrange(3 * HOUR) if random.random() < 0.1 else random.randrange(2 * MINUTE)) for time in times
    ]
    in_order = [time for _, time in sorted(zip(arrivals, times, strict=True))]
    # An act some minutes after another one, so that visits have several.
    followed = [each for time in in_order for each in (time, *([time + 3 * MINUTE] if random.random() < 0.5 else []))]
    bound, watermark, events, index = random.choice((0, 5 * MINUTE)), None, list[Raw](), 0
    while index < len(followed):
        batch = followed[index : index + random.randint(1, 6)]
        index += len(batch)
        events += [
            Raw(time, random.choice(users), random.choice(_PAGES), random.random() < 0.3, watermark) for time in batch
        ]
        watermark = max(max(batch) - bound, watermark if watermark is not None else 0)
    return events, watermark


def _since(random: Random, reports: Sequence[Report], last: int) -> dict[str, int]:
    """Returns since when some reports are known: bounds of windows by retention, any time if they were added later."""
    if random.random() < 0.6:
        return {}
    since = {}
    for report in reports:
        if random.random() < 0.4:
            time = last - random.randrange(4 * DAY)
            is_by_age = not isinstance(report.windows, Sessions) and random.random() < 0.5
            since[report.name] = report.windows.reached(time) if is_by_age else time
    return since
