"""How a service starts: from the tables alone, and so that older processes can no longer commit.

Nothing is created, changed or removed before the epoch is open: a start that fails before that does no harm to a
service that runs well.
"""

import uuid
from dataclasses import dataclass, field

import structlog

from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.event_time import rules, window_states
from tidemark.pipeline.event_time.event_ids import RememberedIds
from tidemark.pipeline.event_time.malformed import MalformedShare
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.progress import Progress
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.window_states import States
from tidemark.pipeline.results import layout
from tidemark.pipeline.results.compaction import Compaction
from tidemark.pipeline.results.kind_registry import kinds_of
from tidemark.pipeline.results.missing_panes import missing_until
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.results.result_table import Results, latest_end, published
from tidemark.pipeline.service.next_epoch import NextEpoch, next_epoch, remarks, require_tables_of_one_time
from tidemark.pipeline.service.publisher import publish_due
from tidemark.pipeline.service.resources import Resources
from tidemark.pipeline.settings.model import KafkaSettings
from tidemark.pipeline.tables import event_id_table, housekeeping
from tidemark.pipeline.tables.fencing import replaced
from tidemark.pipeline.tables.opening import Opening
from tidemark.pipeline.tables.schemas import PANES, find_table, result_of

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OpenedEpoch:
    """Where a new epoch begins, and the tables that it may write."""

    progress: Progress
    publication: Publication
    compaction: Compaction
    remembered: RememberedIds | None
    """The event ids that were counted; None if events are not deduplicated."""
    topic_id: str | None


@dataclass(slots=True)
class OwnEpoch:
    """The epoch that this process opened last, over all its attempts; None before the first."""

    epoch: int | None = None
    process: str = field(default_factory=lambda: uuid.uuid4().hex)
    """A random id in all openings of this process: its last attempt may have opened an epoch without learning it."""


def open_epoch(resources: Resources, kafka: KafkaSettings, own: OwnEpoch) -> OpenedEpoch:
    """Commits the next epoch to the ledger, then carries out all that the ledger has decided.

    Raises SetUpError if ledger, topic and settings do not fit together, Replaced if another service started after the
    epoch in `own`.
    """
    require_tables_of_one_time(resources)
    # The plan must be made from the newest ledger: a batch that an older service committed meanwhile would be read
    # again.
    while (epoch := _try_to_open(resources, kafka, own)) is None:
        pass
    own.epoch = epoch.batch.epoch
    return carry_out(epoch, resources)


def carry_out(epoch: NextEpoch, resources: Resources) -> OpenedEpoch:
    """Carries out an epoch that is in the ledger. Raises Replaced.

    Each step is harmless when repeated, and refused once a newer epoch has fenced its table.
    """
    warehouse, policy, batch_id = resources.warehouse, epoch.opening.policy, epoch.batch.batch_id
    _take_over(epoch, resources)
    _drop_reports(epoch, resources)
    resources.schemas.store()
    event_id_table.forget(warehouse, epoch.forgets_ids_before, batch_id)
    remembered = event_id_table.remembered(warehouse) if policy.deduplicate else None
    kinds = kinds_of(warehouse, policy, resources.large, resources.tuning)
    publication = Publication(warehouse, kinds)
    progress = _republish(epoch, resources, publication)
    return OpenedEpoch(progress, publication, Compaction(warehouse, kinds), remembered, epoch.opening.topic_id)


def _try_to_open(resources: Resources, kafka: KafkaSettings, own: OwnEpoch) -> NextEpoch | None:
    """Commits the next epoch to the ledger and returns it; None if another commit came first: read again."""
    rows = resources.ledger.latest()
    newest = rows[0].epoch if rows else 0
    # A service that failed because it was replaced must not start again and replace its successor.
    if own.epoch is not None and newest > own.epoch and resources.ledger.opening(newest).process != own.process:
        raise replaced(newest, own.epoch)
    epoch = next_epoch(resources, kafka, rows, own.process)
    for remark in remarks(epoch, kafka):
        _log.warning("start_warning", reason=remark)
    return epoch if resources.ledger.commit_next(epoch.batch.ledger_rows(epoch.batch.folded_at)) else None


def _take_over(epoch: NextEpoch, resources: Resources) -> None:
    """Creates missing tables, fences all tables, and removes rows of batches that were never committed."""
    warehouse, opening, batch_id = resources.warehouse, epoch.opening, epoch.batch.batch_id
    layout.create_tables(warehouse, opening.policy, resources.retention, batch_id, resources.tuning)
    names = {*opening.closed, *(report.name for report in opening.policy.reports)}
    reports = layout.stored_reports(names, warehouse)
    housekeeping.take_over(warehouse, reports, batch_id, opening.closed if epoch.is_reset else None)
    if epoch.is_reset:
        _require_panes(warehouse, opening)
    housekeeping.remove_uncommitted(warehouse, opening.last_batch, batch_id)


def _require_panes(warehouse: str, opening: Opening) -> None:
    """Raises TransientError if the replaced service merged panes of windows after the epoch left these open.

    It can do so until the tables are fenced, by a watermark that was since reset. The next attempt closes them.
    """
    panes = find_table(PANES.name, warehouse)
    for report in opening.policy.reports:
        if report.windows.by_time and missing_until(panes, report.name) > opening.closed[report.name]:
            raise TransientError(f"the service before merged panes of {report.name} while this service started")


def _drop_reports(epoch: NextEpoch, resources: Resources) -> None:
    """Publishes the last windows of dropped reports, closes these reports, and removes their panes."""
    warehouse, batch_id = resources.warehouse, epoch.batch.batch_id
    for name in epoch.added:
        _log.info("report_added", report=name, counts="later events only")
    for name in epoch.missing_now:
        # Totals over all time are never dropped.
        open_windows = "retained" if name == UserTotals.name else "dropped"
        _log.info("report_removed", report=name, table="stays", open_windows=open_windows)
    if epoch.lost_since_last_batch and (policy := epoch.last_policy(housekeeping.pane_starts(warehouse))):
        firings, _ = window_states.at_start(_states(resources, policy), epoch.batch.after.watermark, batch_id)
        publication = Publication(warehouse, kinds_of(warehouse, policy, resources.large, resources.tuning))
        publication.publish(window_states.due(firings), batch_id)
    reports = layout.stored_reports(epoch.closed_reports, warehouse)
    for report in reports:
        # Close before the panes go: without them the result could not be recomputed.
        if published(warehouse, result_of(report)).closed_until < epoch.closed_reports[report.name]:
            Results(warehouse, result_of(report)).close(batch_id, epoch.closed_reports[report.name])
    # An earlier start has removed those of most reports.
    left = housekeeping.pane_starts(warehouse) if reports else {}
    with_panes = [result_of(report) for report in reports if report.name in left]
    ends = {spec.name: latest_end(Results(warehouse, spec).handle.table) for spec in with_panes}
    housekeeping.remove_panes(warehouse, ends, batch_id)


def _republish(epoch: NextEpoch, resources: Resources, publication: Publication) -> Progress:
    """Publishes all windows that have fired and are not final, and returns the progress after that."""
    batch, policy = epoch.batch, epoch.opening.policy
    states = _states(resources, policy) if epoch.earlier else window_states.initial(policy)
    share = MalformedShare(resources.malformed)
    firings, progress = Progress(batch.topic, policy, batch.batch_id, batch.after, states, share).at_start()
    if window_states.due(firings):
        publish_due(resources, publication, firings, batch.batch_id)
    open_windows = window_states.open_windows(progress.windows)
    resources.observer.opened(batch.epoch, batch.after, open_windows, resources.ledger.warehouse_id)
    republished = sum(len(firing.refired) for firing in firings.values())
    _log.info("epoch_opened", epoch=batch.epoch, watermark=batch.after.watermark, republished=republished)
    return progress


def _states(resources: Resources, policy: Policy) -> States:
    """Returns the states of the windows, from panes, results and ledger."""
    done = {report.name: published(resources.warehouse, result_of(report)) for report in policy.reports}
    by_time = (done[report.name].closed_until for report in policy.reports if report.windows.by_time)
    steps = resources.ledger.watermarks(min(by_time, default=rules.NEVER))
    return window_states.restored(policy, housekeeping.pane_starts(resources.warehouse), done, tuple(steps))
