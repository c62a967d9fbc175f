"""Too-late events and the closed windows and totals that they belong to, to which they may be added, each once."""

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.frames import columns as c
from pipeline.frames.late import BELONGS, late_events
from pipeline.session import spark_session
from pipeline.settings import Settings
from pipeline.tables.corrections import Corrections, Row
from pipeline.tables.layout import check_made_as
from pipeline.tables.ledger import Ledger, require_warehouse
from pipeline.tables.results import published
from pipeline.tables.schemas import DEAD_LETTERS, LEDGER
from pipeline.time import lateness
from pipeline.time.batch import EPOCH
from pipeline.time.report import Periodic, Report
from pipeline.time.sessions import Sessions
from pipeline.time.totals import Totals
from schemas import load_schemas

REASONS = ("too_late", "partly_late")
"""Why an event may have missed its windows; `future` may be asked for too, once they have closed."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which dead letters to take; times in milliseconds, `[since, until)`."""

    since: int | None = None
    until: int | None = None
    users: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    reasons: tuple[str, ...] = REASONS


def apply_corrections(settings: Settings, chosen: Chosen, *, dry_run: bool = False) -> list[Row]:
    """Adds the chosen events to the closed windows they belong to; returns a row for each event and window.

    Totals are the service's to write: it adds what is decided here when it publishes them next. Doing it again adds
    nothing; a run that was killed is finished by the next. Raises SetUpError where the warehouse is not what the
    settings say.
    """
    policy = settings.policy()
    require_warehouse(settings.warehouse)
    for report in policy.reports:
        check_made_as(report, settings.warehouse)
    corrections = Corrections(settings.warehouse)
    rows = _new(settings, corrections, chosen)
    while rows and not dry_run and not corrections.decide(rows):
        rows = _new(settings, corrections, chosen)
    if not dry_run:
        for report in policy.reports:
            corrections.apply(report)
    return rows


def _new(settings: Settings, corrections: Corrections, chosen: Chosen) -> list[Row]:
    policy, known = settings.policy(), corrections.known()
    spark = spark_session(settings.spark)
    dead = spark.read.format("delta").load(DEAD_LETTERS.uri(settings.warehouse))
    batches = spark.read.format("delta").load(LEDGER.uri(settings.warehouse)).select(c.BATCH).distinct()
    dead = dead.where(F.col(c.REASON).isin(*chosen.reasons)).join(batches, c.BATCH, "left_semi")
    events = _filtered(late_events(dead, load_schemas(settings.schemas), policy), chosen).toArrow().to_pylist()
    ledger = Ledger(settings.warehouse)
    reached = max((row.watermark or 0 for row in ledger.latest()), default=0)
    horizons = {report.name: _final(settings.warehouse, report, reached) for report in policy.reports}
    judges = {epoch: opening.policy for epoch, opening in ledger.openings().items()}
    return [
        row
        for event in sorted(events, key=lambda one: (one[c.PARTITION], one[c.OFFSET]))
        # As they were when it came: a report that came later has nothing from before, and lateness may have changed.
        for report in judges[event[c.BATCH] // EPOCH].reports
        if report.name in horizons and (report.name, event[c.TOPIC], event[c.PARTITION], event[c.OFFSET]) not in known
        for row in _added(event, report, horizons[report.name])
    ]


def _filtered(events: DataFrame, chosen: Chosen) -> DataFrame:
    conditions: list[Column] = []
    if chosen.since is not None:
        conditions.append(F.col(c.TIME) >= chosen.since)
    if chosen.until is not None:
        conditions.append(F.col(c.TIME) < chosen.until)
    if chosen.users:
        conditions.append(F.col(c.USER_ID).isin(*chosen.users))
    if chosen.pages:
        conditions.append(F.col(c.PAGE_URL).isin(*chosen.pages))
    for condition in conditions:
        events = events.where(condition)
    return events


def _final(warehouse: str, report: Report, reached: int) -> int:
    """Windows that end no later are closed and published for the last time; to totals belongs what has been reached."""
    return reached if isinstance(report.windows, Totals) else published(warehouse, report).closed_until


def _added(event: Row, report: Report, horizon: int) -> list[Row]:
    """What an event adds to a report: a row for each window that it missed; none if one of them is still to close."""
    windows = list(_missed(event, report))
    if not event[f"{BELONGS}{report.name}"] or not all(lateness.is_closed(end, horizon) for _, end in windows):
        return []
    click = event[c.EVENT_TYPE] == "click"
    keys = {key: event[key] for key in {*report.grouped_by}}
    told = {name: event[name] for name in (c.TOPIC, c.PARTITION, c.OFFSET)}
    added = {c.PAGE_VIEWS: int(not click), c.CLICKS: int(click), c.LATE_EVENTS: 1, c.CLOSED_UNTIL: horizon}
    fixed = {c.REPORT: report.name, c.EVENT_TIME: event[c.TIME], **told, **keys, **added}
    return [{**fixed, c.WINDOW_START_MS: start, c.WINDOW_END_MS: end} for start, end in windows]


def _missed(event: Row, report: Report) -> Iterator[tuple[int, int]]:
    """The windows of a report in which an event did not count when it came."""
    for start, end in _windows(event[c.TIME], report):
        # Totals take what any other report takes.
        missed = lateness.is_closed(end, lateness.closed_until(report, event[c.WATERMARK]))
        counted = isinstance(report.windows, Totals) or not missed
        if event[c.REASON] != "partly_late" or not counted:
            yield start, end


def _windows(time: int, report: Report) -> Iterator[tuple[int, int]]:
    """The windows that an event belongs to; of a session the event's own part, of totals nothing but its time."""
    windows = report.windows
    if isinstance(windows, Periodic):
        for end in windows.ends(windows.pane_start(time)):
            yield windows.begin(end), end
    if isinstance(windows, Sessions):
        yield time, time + windows.gap_ms
    if isinstance(windows, Totals):
        yield time, time
