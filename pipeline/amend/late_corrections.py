"""Too-late events and the closed windows and totals that they belong to, to which they may be added, each once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.amend.finality import Finality
from pipeline.amend.user_names import known_as
from pipeline.event_time import lateness
from pipeline.event_time.batch import EPOCH
from pipeline.event_time.checks import Check
from pipeline.event_time.policy import Consumer
from pipeline.event_time.user_totals import UserTotals
from pipeline.fold.dead_letter_reader import BELONGS, late_events
from pipeline.instants import now_ms
from pipeline.results.corrections import Corrections
from pipeline.results.kind_registry import kind_of
from pipeline.results.layout import check_results
from pipeline.results.retention import removed
from pipeline.runtime.spark import spark_session
from pipeline.settings.load import require
from pipeline.settings.model import Settings
from pipeline.tables.event_schemas import schemas_of
from pipeline.tables.ledger import Ledger, require_warehouse
from pipeline.tables.query import Row, query
from pipeline.tables.schemas import DEAD_LETTERS, LEDGER, result_of

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
    is_judged_again: bool = False
    """Whether only those count that the rules of now would take."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """What a run has decided: a row for each event and window."""

    rows: list[Row]
    waiting: Counter[str]
    """By report how many events wait for a later run, because what they add to is not final yet."""


def apply_corrections(settings: Settings, chosen: Chosen, *, dry_run: bool = False) -> Corrected:
    """Adds the chosen events to the closed windows they belong to.

    Totals are the service's to write: it adds what is decided here when it publishes them next. Doing it again adds
    nothing; a run that was killed is finished by the next. Raises SetUpError where the warehouse is not what the
    settings say.
    """
    require(settings, "warehouse")
    policy = settings.policy()
    require_warehouse(settings.warehouse)
    chosen = replace(chosen, users=known_as(settings, chosen.users))
    check_results(settings.warehouse, policy, all_made=True)
    corrections = Corrections(settings.warehouse)
    found = _new(settings, corrections, chosen)
    while found.rows and not dry_run and not corrections.append_next(found.rows):
        found = _new(settings, corrections, chosen)
    if not dry_run:
        for report in policy.reports:
            corrections.apply(kind_of(report))
    return found


def _new(settings: Settings, corrections: Corrections, chosen: Chosen) -> Corrected:
    policy, known, now = settings.policy(), corrections.known(), now_ms()
    dead = spark_session(settings.spark).createDataFrame(_dead_letters(settings.warehouse, chosen.reasons))
    ledger = Ledger(settings.warehouse)
    openings = ledger.openings()
    hidden = any(how.pseudonyms for how in openings.values())
    late = late_events(dead, schemas_of(settings), policy, now, hidden=hidden)
    events = _filtered(late, chosen).toArrow().to_pylist()
    finality = Finality.of(settings.warehouse, policy, ledger, now)
    gone = {report.name: removed(DeltaTable(result_of(report).uri(settings.warehouse))) for report in policy.reports}
    judges = {epoch: how.policy for epoch, how in openings.items()}
    found = Corrected([], Counter())
    for event in sorted(events, key=lambda event: (event[c.PARTITION], event[c.OFFSET])):
        # As they were when it came: what came later has nothing from before, and lateness may have changed.
        for one in judges[event[c.BATCH] // EPOCH].consumers:
            place = (one.name, event[c.TOPIC], event[c.PARTITION], event[c.OFFSET])
            if one.name in finality.until and place not in known:
                _decide(found, event, one, finality, gone.get(one.name, 0))
    return found


def _decide(found: Corrected, event: Row, consumer: Consumer, finality: Finality, gone: int) -> None:
    """Notes the rows that an event adds, or that it waits; windows that end by `gone` were removed by age."""
    missed = _missed(event, consumer)
    if not finality.holds(event, consumer, missed):
        found.waiting[consumer.name] += 1
        return
    final = finality.until[consumer.name]
    found.rows.extend(row for row in _added(event, consumer, missed, final) if row[c.WINDOW_END_MS] > gone)


def _dead_letters(warehouse: str, reasons: Sequence[str]) -> pa.Table:
    """The committed ones with these reasons. Spark is not asked: it would need a client of its own for each store."""
    dead, ledger = (DeltaTable(spec.uri(warehouse)) for spec in (DEAD_LETTERS, LEDGER))
    wanted = ", ".join(f"'{reason}'" for reason in reasons)
    # Of those without a value the bytes were not kept, or erased.
    kept = f"reason IN ({wanted}) AND value IS NOT NULL"
    sql = f"SELECT * FROM dead WHERE {kept} AND batch IN (SELECT batch FROM ledger)"  # noqa: S608 - ours
    return query(sql, dead=dead, ledger=ledger).select(DEAD_LETTERS.schema.names).cast(DEAD_LETTERS.schema)


def _filtered(events: DataFrame, chosen: Chosen) -> DataFrame:
    if chosen.is_judged_again:
        events = events.where(F.col(c.CHECK) == int(Check.PASSED))
    if chosen.since is not None:
        events = events.where(F.col(c.TIME) >= chosen.since)
    if chosen.until is not None:
        events = events.where(F.col(c.TIME) < chosen.until)
    if chosen.users:
        events = events.where(F.col(c.USER_ID).isin(*chosen.users))
    if chosen.pages:
        events = events.where(F.col(c.PAGE_URL).isin(*chosen.pages))
    return events


def _added(event: Row, consumer: Consumer, missed: Sequence[tuple[int, int]], final: int) -> list[Row]:
    """The rows that an event adds: one for each window that it missed."""
    click = event[c.EVENT_TYPE] == "click"
    keys = {key: event[key] for key in {*consumer.fold_keys}}
    told = {name: event[name] for name in (c.TOPIC, c.PARTITION, c.OFFSET)}
    added = {c.PAGE_VIEWS: int(not click), c.CLICKS: int(click), c.LATE_EVENTS: 1, c.CLOSED_UNTIL: final}
    fixed = {c.REPORT: consumer.name, c.EVENT_TIME: event[c.TIME], **told, **keys, **added}
    return [{**fixed, c.WINDOW_START_MS: start, c.WINDOW_END_MS: end} for start, end in missed]


def _missed(event: Row, consumer: Consumer) -> list[tuple[int, int]]:
    """The windows in which an event did not count when it came, of a report to which it belongs.

    Of totals, which take what any report takes, it is the time of an event that missed every window.
    """
    partly = event[c.REASON] == "partly_late"
    if isinstance(consumer, UserTotals):
        return [] if partly else [(event[c.TIME], event[c.TIME])]
    if not event[f"{BELONGS}{consumer.name}"]:
        return []
    closed_until = lateness.closed_until(consumer, event[c.WATERMARK])
    windows = consumer.windows.of(event[c.TIME])
    return [(start, end) for start, end in windows if not partly or lateness.is_closed(end, closed_until)]
