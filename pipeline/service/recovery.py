"""How a service starts: from the tables alone, and so that no older process can commit any more.

Nothing is made, changed or removed before the epoch is open: whoever finds a mistake until then has done no harm to a
service that runs well.
"""

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import structlog

from pipeline.event_time import lateness, rules, window_states
from pipeline.event_time.batch import Batch
from pipeline.event_time.event_ids import RememberedIds
from pipeline.event_time.malformed import MalformedShare
from pipeline.event_time.policy import Policy
from pipeline.event_time.progress import Progress
from pipeline.event_time.user_totals import UserTotals
from pipeline.event_time.window_states import States
from pipeline.results import layout
from pipeline.results.compaction import Compaction
from pipeline.results.kind_registry import kinds_of
from pipeline.results.publication import Publication
from pipeline.results.result_table import Results, published
from pipeline.service.next_epoch import NextEpoch, next_epoch, remarks
from pipeline.service.publisher import publish_due
from pipeline.service.resources import Resources
from pipeline.settings.model import KafkaSettings
from pipeline.tables import event_id_table, housekeeping
from pipeline.tables.fencing import replaced
from pipeline.tables.schemas import result_of

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Opened:
    """Where a new epoch begins, and the tables that it may write."""

    progress: Progress
    publication: Publication
    compaction: Compaction
    remembered: RememberedIds | None
    """The event ids that were counted; None where events are not deduplicated."""
    topic_id: str | None


@dataclass(slots=True)
class OwnEpoch:
    """The epoch that this process opened last, over all its attempts; None before the first."""

    epoch: int | None = None
    process: str = field(default_factory=lambda: uuid.uuid4().hex)
    """In the openings of this process, and in no other: its last attempt may have opened one without learning it."""


def open_epoch(resources: Resources, kafka: KafkaSettings, own: OwnEpoch) -> Opened:
    """Opens the next epoch: commits it to the ledger, takes the tables over, carries out what the ledger has decided.

    Every step is harmless when it is repeated, and refused once a newer epoch has come to its table.

    Raises SetUpError where ledger, topic and settings do not fit together, Replaced if another service started since
    `own` epoch.
    """
    # What was read must be the newest still when it is acted on: an older service may have committed a batch meanwhile,
    # which would be read again.
    while (found := _try_to_open(resources, kafka, own)) is None:
        pass
    batch, how, warehouse = found.batch, found.how, resources.warehouse
    own.epoch = batch.epoch
    layout.create_tables(warehouse, how.policy, resources.retention, by=batch.batch_id)
    every = layout.stored_reports({*how.closed, *(report.name for report in how.policy.reports)}, warehouse)
    housekeeping.take_over(warehouse, every, batch.batch_id, how.closed if found.is_reset else None)
    housekeeping.remove_uncommitted(warehouse, how.last_batch, batch.batch_id)
    _drop_reports(resources, found)
    resources.schemas.store()
    remembered = _remembered(warehouse, found)
    states = _states(resources, how.policy) if found.earlier else window_states.initial(how.policy)
    share = MalformedShare(resources.malformed)
    firings, progress = Progress(batch.topic, how.policy, batch.batch_id, batch.after, states, share).at_start()
    kinds = kinds_of(warehouse, how.policy, resources.large)
    publication = Publication(warehouse, kinds)
    if window_states.due(firings):
        publish_due(resources, publication, firings, batch.batch_id)
    resources.observer.opened(batch.epoch, batch.after, window_states.open_windows(progress.windows))
    republished = sum(len(firing.refired) for firing in firings.values())
    _log.info("epoch_opened", epoch=batch.epoch, watermark=batch.after.watermark, republished=republished)
    return Opened(progress, publication, Compaction(warehouse, kinds), remembered, how.topic_id)


def _try_to_open(resources: Resources, kafka: KafkaSettings, own: OwnEpoch) -> NextEpoch | None:
    """Commits the next epoch to the ledger and returns it; None if another commit came first: read again."""
    rows = resources.ledger.latest()
    newest = rows[0].epoch if rows else 0
    # A service that failed because it was replaced must not start again and replace its successor.
    if own.epoch is not None and newest > own.epoch and resources.ledger.opening(newest).process != own.process:
        raise replaced(newest, own.epoch)
    found = next_epoch(resources, kafka, rows, own.process)
    for remark in remarks(found, kafka):
        _log.warning("start_warning", reason=remark)
    return found if resources.ledger.commit_next(found.batch.ledger_rows(found.batch.folded_at)) else None


def _drop_reports(resources: Resources, found: NextEpoch) -> None:
    """Publishes the last windows of reports that are dropped, closes these reports, and removes their panes."""
    if not found.earlier:
        return
    batch, how, before = found.batch, found.how, found.earlier[0].policy
    was, now = ({consumer.name for consumer in one.policy.consumers} for one in (found.earlier[-1], how))
    for name in now - was:
        _log.info("report_added", report=name, counts="later events only")
    for name in was - now:
        # Totals over all time are never dropped.
        open_windows = "retained" if name == UserTotals.name else "dropped"
        _log.info("report_removed", report=name, table="stays", open_windows=open_windows)
    _publish_the_last_of(found.dropped, resources, batch, before)
    gone = {name: time for name, time in how.closed.items() if name not in now or name in found.dropped}
    _close(resources.warehouse, batch.batch_id, gone)


def _remembered(warehouse: str, found: NextEpoch) -> RememberedIds | None:
    """Returns the event ids that the last epoch with a batch remembered in the end; None without deduplication.

    What it had forgotten stays so, whatever lateness the settings give now.
    """
    since = rules.NEVER
    if found.remembers:
        since, _ = lateness.cutoffs(found.earlier[0].policy.reports, found.batch.before.watermark)
    event_id_table.forget(warehouse, since, found.batch.batch_id)
    return event_id_table.remembered(warehouse) if found.how.policy.deduplicate else None


def _publish_the_last_of(names: Collection[str], resources: Resources, batch: Batch, before: Policy) -> None:
    """Publishes windows of dropped reports that had fired and are not published: after this they have no panes."""
    # Without panes, an earlier start has come this far: there is nothing that the table could be replaced by.
    left = housekeeping.pane_starts(resources.warehouse)
    reports = [report for report in before.reports if report.name in names and report.name in left]
    if not reports:
        return
    going = replace(before, reports=tuple(reports), totals=None)
    firings, _ = window_states.at_start(_states(resources, going), batch.after.watermark, batch.batch_id)
    publication = Publication(resources.warehouse, kinds_of(resources.warehouse, going, resources.large))
    publication.publish(window_states.due(firings), batch.batch_id)


def _close(warehouse: str, number: int, gone: Mapping[str, int]) -> None:
    """Makes dropped reports final up to a time each, in milliseconds, and removes their panes."""
    dropped = layout.stored_reports(gone, warehouse)
    for report in dropped:
        # Close before the panes go: without them the result could not be recomputed.
        if published(warehouse, result_of(report)).closed_until < gone[report.name]:
            Results(warehouse, result_of(report)).close(number, gone[report.name])
    housekeeping.remove_panes(warehouse, [report.name for report in dropped], number)


def _states(resources: Resources, policy: Policy) -> States:
    """The states of the windows, by panes, results and ledger."""
    done = {report.name: published(resources.warehouse, result_of(report)) for report in policy.reports}
    by_time = (done[report.name].closed_until for report in policy.reports if report.windows.by_time)
    steps = resources.ledger.watermarks(min(by_time, default=rules.NEVER))
    return window_states.restored(policy, housekeeping.pane_starts(resources.warehouse), done, tuple(steps))
