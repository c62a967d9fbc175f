"""Adds too-late events to the closed windows and totals that they belong to, each once."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.amend.finality import Finality, Window
from tidemark.pipeline.amend.user_names import known_as
from tidemark.pipeline.event_time import lateness
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.policy import Consumer, Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.fold.dead_letter_reader import BELONGS, late_events
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.results.corrections import CorrectedEvent, Corrections, known_corrections
from tidemark.pipeline.results.kind_registry import kind_of
from tidemark.pipeline.results.layout import check_results
from tidemark.pipeline.results.retention import removed_until
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.load import require
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.warehouse_policy import policy_of
from tidemark.pipeline.sketches import sketch_of
from tidemark.pipeline.tables.changed_meaning import LETTERS, Meaning, require_same_meaning
from tidemark.pipeline.tables.event_schemas import schemas_of
from tidemark.pipeline.tables.ledger import Ledger, require_warehouse
from tidemark.pipeline.tables.query import Row, query
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, LEDGER, result_of
from tidemark.schemas.fields import CLICK, VISIT

REASONS = ("too_late", "partly_late")
"""The default reasons of dead letters to take; `future` can be chosen too, once their windows have closed."""


@dataclass(frozen=True, slots=True)
class LetterSelection:
    """The dead letters to take; times of events in milliseconds, `[since, until)`."""

    since: int | None = None
    until: int | None = None
    users: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    reasons: tuple[str, ...] = REASONS
    is_judged_again: bool = False
    """Whether to take only events that are valid by today's rules."""


@dataclass(frozen=True, slots=True)
class CorrectionOutcome:
    """The decisions of a run: a row for each event and window."""

    rows: list[Row]
    waiting: Counter[str]
    """By report the number of events whose windows are not final yet, so that a later run adds them."""
    uncorrectable: Counter[str]
    """By report the number of events that cannot be added, because closed windows have only the largest values."""


def apply_corrections(settings: Settings, chosen: LetterSelection, *, dry_run: bool = False) -> CorrectionOutcome:
    """Adds the chosen events to the closed windows they belong to.

    The service adds them to the totals when it publishes these next. A second run adds nothing; it finishes a run that
    was killed. Reports and times that the settings do not name are those of the warehouse. Raises SetUpError if the
    warehouse does not fit the settings.
    """
    require(settings, "warehouse")
    require_warehouse(settings.warehouse)
    policy = _policy(settings)
    chosen = replace(chosen, users=known_as(settings, chosen.users))
    check_results(settings.warehouse, policy, all_made=True)
    if dry_run:
        return _decided(settings, policy, known_corrections(settings.warehouse), chosen)
    corrections = Corrections(settings.warehouse)
    corrected = _decided(settings, policy, corrections.known(), chosen)
    while corrected.rows and not corrections.append_next(corrected.rows):
        corrected = _decided(settings, policy, corrections.known(), chosen)
    for report in policy.reports:
        corrections.apply(kind_of(report))
    return corrected


def _policy(settings: Settings) -> Policy:
    """Returns the warehouse's policy, except for what the settings name.

    Raises SetUpError if dead letters would be read otherwise than the service reads events, unless it may be.
    """
    ledger = Ledger(settings.warehouse, mends=False)
    rows = ledger.latest()
    if not rows:
        return settings.policy()
    newest = ledger.opening(rows[0].epoch)
    require_same_meaning(rows, newest, Meaning.of(settings), settings.warehouse, LETTERS)
    return policy_of(settings, newest.policy)


def _decided(
    settings: Settings, policy: Policy, known: Collection[CorrectedEvent], chosen: LetterSelection
) -> CorrectionOutcome:
    now = now_ms()
    dead = spark_session(settings.spark).createDataFrame(_dead_letters(settings.warehouse, chosen.reasons))
    ledger = Ledger(settings.warehouse)
    openings = ledger.openings()
    hidden = any(opening.pseudonyms for opening in openings.values())
    late = late_events(dead, schemas_of(settings), policy, now, hidden=hidden)
    events = _filtered(late, chosen).toArrow().to_pylist()
    finality = Finality.of(settings.warehouse, policy, ledger, now)
    removed = {
        report.name: removed_until(DeltaTable(result_of(report).uri(settings.warehouse))) for report in policy.reports
    }
    policies = {epoch: opening.policy for epoch, opening in openings.items()}
    corrected = CorrectionOutcome([], Counter(), Counter())
    for event in sorted(events, key=lambda event: (event[c.PARTITION], event[c.OFFSET])):
        # The consumers of the event's own epoch: later reports have no earlier events, and lateness may have changed.
        for consumer in policies[event[c.BATCH] // EPOCH].consumers:
            position = CorrectedEvent(consumer.name, event[c.TOPIC], event[c.PARTITION], event[c.OFFSET])
            if consumer.name in finality.until and position not in known:
                _decide(corrected, event, consumer, finality, removed.get(consumer.name, 0))
    return corrected


def _decide(corrected: CorrectionOutcome, event: Row, consumer: Consumer, finality: Finality, removed: int) -> None:
    """Adds the rows of an event to `corrected`, or counts it as waiting or uncorrectable.

    Retention removed windows up to `removed` (ms).
    """
    missed = _missed(event, consumer)
    if isinstance(consumer, Report) and consumer.limited:
        # Its value may be among all others, where a row has no number of it: it could now be one of the largest.
        corrected.uncorrectable[consumer.name] += bool(missed)
        return
    if not finality.holds(event, consumer, missed):
        corrected.waiting[consumer.name] += 1
        return
    final = finality.until[consumer.name]
    corrected.rows.extend(row for row in _added(event, consumer, missed, final) if row[c.WINDOW_END_MS] > removed)


def _dead_letters(warehouse: str, reasons: Sequence[str]) -> pa.Table:
    """Returns the committed dead letters with these reasons. Spark would need a client of its own for each store."""
    dead, ledger = (DeltaTable(spec.uri(warehouse)) for spec in (DEAD_LETTERS, LEDGER))
    wanted = ", ".join(f"'{reason}'" for reason in reasons)
    # Without a value the bytes were not stored, or were erased.
    replayable = f"reason IN ({wanted}) AND value IS NOT NULL"
    sql = f"SELECT * FROM dead WHERE {replayable} AND batch IN (SELECT batch FROM ledger)"  # noqa: S608 - ours
    return query(sql, dead=dead, ledger=ledger).select(DEAD_LETTERS.schema.names).cast(DEAD_LETTERS.schema)


def _filtered(events: DataFrame, chosen: LetterSelection) -> DataFrame:
    # Without events of an earlier epoch whose kind is not mapped any more.
    events = events.where(F.col(c.CHECK) != int(Check.EVENT_TYPE))
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


def _added(event: Row, consumer: Consumer, missed: Sequence[Window], final: int) -> list[Row]:
    """Returns the rows that an event adds: one for each window in `missed`; windows are final up to `final`."""
    kind = event[c.EVENT_TYPE]
    keys = {consumer.stored(key): event[key] for key in {*consumer.fold_keys}}
    position = {name: event[name] for name in (c.TOPIC, c.PARTITION, c.OFFSET)}
    counts = {c.PAGE_VIEWS: int(kind == VISIT), c.CLICKS: int(kind == CLICK), c.LATE_EVENTS: 1}
    fixed = {c.REPORT: consumer.name, c.EVENT_TIME: event[c.TIME], **position, **keys, **counts, c.CLOSED_UNTIL: final}
    if not isinstance(consumer, UserTotals):
        fixed |= consumer.parts_of(event, sketch_of)
    return [{**fixed, c.WINDOW_START_MS: start, c.WINDOW_END_MS: end} for start, end in missed]


def _missed(event: Row, consumer: Consumer) -> list[Window]:
    """Returns the windows of a report in which an event did not count when it came.

    For totals, which count every event that any report counts, it is the time of an event that missed all windows.
    """
    partly = event[c.REASON] == "partly_late"
    if isinstance(consumer, UserTotals):
        return [] if partly else [(event[c.TIME], event[c.TIME])]
    if not event[f"{BELONGS}{consumer.name}"]:
        return []
    closed_until = lateness.closed_until(consumer, event[c.WATERMARK])
    windows = consumer.windows.of(event[c.TIME])
    return [(start, end) for start, end in windows if not partly or lateness.is_closed(end, closed_until)]
