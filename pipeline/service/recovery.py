"""How a service starts: from the tables alone, and so that no older process can commit any more.

Nothing is made, changed or removed before the epoch is open: whoever finds a mistake until then has done no harm to a
service that runs well.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import structlog

from pipeline.event_time import lateness, rules, window_states
from pipeline.event_time.batch import Batch
from pipeline.event_time.event_ids import Remembered
from pipeline.event_time.malformed import MalformedShare
from pipeline.event_time.policy import Policy
from pipeline.event_time.progress import Progress
from pipeline.event_time.user_totals import UserTotals
from pipeline.event_time.window_states import States
from pipeline.service.next_epoch import NextEpoch, next_epoch, remarks
from pipeline.service.publisher import publish_due
from pipeline.service.resources import Resources
from pipeline.settings.model import KafkaSettings
from pipeline.tables import event_ids, housekeeping, layout
from pipeline.tables.ledger import replaced
from pipeline.tables.opening import Opening
from pipeline.tables.results.compaction import Compaction
from pipeline.tables.results.publication import Publication
from pipeline.tables.results.registry import kinds_of
from pipeline.tables.results.result_table import Results, published
from pipeline.tables.schemas import result_of

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Opened:
    """Where a new epoch begins, and the tables that it may write."""

    progress: Progress
    publication: Publication
    compaction: Compaction
    remembered: Remembered | None
    """The event ids that were counted; None where events are not deduplicated."""


@dataclass(slots=True)
class LastEpoch:
    """The epoch that this process opened last, over all its attempts; none before the first."""

    epoch: int | None = None


def open_epoch(resources: Resources, kafka: KafkaSettings, last_epoch: LastEpoch) -> Opened:
    """Opens the next epoch: reads the ledger, fences older processes, removes void rows, republishes what is due.

    Raises SetUpError where ledger, topic and settings do not fit together, Replaced if another service started since
    `last_epoch`.
    """
    # What was read must be the newest still when it is acted on: an older service may have committed a batch meanwhile,
    # which would be read again.
    while (found := _try_to_open(resources, kafka, last_epoch)) is None:
        pass
    batch, how, before = found.batch, found.how, found.before
    last_epoch.epoch = batch.epoch
    _make_tables(resources, batch, how, before)
    resources.schemas.keep()
    remembered = _remembered(resources.warehouse, batch, how, before)
    states = window_states.begun(how.policy) if before is None else _states(resources, how.policy)
    share = MalformedShare(resources.malformed)
    firings, progress = Progress(batch.topic, how.policy, batch.number, batch.after, states, share).at_start()
    kinds = kinds_of(resources.warehouse, how.policy, resources.large)
    publication = Publication(resources.warehouse, kinds)
    if any(firings.values()):
        publish_due(resources, publication, firings, batch.number)
    publication.fence([name for name, firing in firings.items() if not firing], batch.number)
    resources.observer.opened(batch.epoch, batch.after, window_states.open_windows(progress.windows))
    republished = sum(len(firing.refired) for firing in firings.values())
    _log.info("epoch opened", epoch=batch.epoch, watermark=batch.after.watermark, republished=republished)
    return Opened(progress, publication, Compaction(resources.warehouse, kinds), remembered)


def _try_to_open(resources: Resources, kafka: KafkaSettings, last_epoch: LastEpoch) -> NextEpoch | None:
    """The epoch that was opened; None if the ledger moved on meanwhile."""
    rows = resources.ledger.latest()
    if last_epoch.epoch is not None and rows[0].epoch > last_epoch.epoch:
        # A service that failed because it was replaced must not start again and replace its successor.
        raise replaced(rows[0].epoch, last_epoch.epoch)
    found = next_epoch(resources, kafka, rows)
    for remark in remarks(found, kafka):
        _log.warning(remark)
    return found if resources.ledger.commit_next(found.batch.ledger_rows(found.batch.folded_at)) else None


def _make_tables(resources: Resources, batch: Batch, how: Opening, before: Opening | None) -> None:
    """Makes what is missing, and removes what no longer counts: the epoch is open now."""
    layout.create_tables(resources.warehouse, how.policy, resources.retention)
    housekeeping.remove_void(resources.warehouse, how.last_batch, batch.number)
    if before is None:
        return
    was, now = ({consumer.name for consumer in one.policy.consumers} for one in (before, how))
    for name in now - was:
        _log.info(f"report {name} is new: it has the events from here on, not those before")
    for name in was - now:
        # Totals of all time are never dropped.
        what = "what it has so far is kept" if name == UserTotals.name else "what it had open is dropped"
        _log.info(f"report {name} is no longer configured: its table stays as it is, {what}")
    _show_the_last_of(was - now, resources, batch, before.policy)
    _close(resources.warehouse, batch.number, {name: time for name, time in how.closed.items() if name not in now})


def _remembered(warehouse: str, batch: Batch, how: Opening, before: Opening | None) -> Remembered | None:
    """What the epoch before remembered in the end; nothing where it did not deduplicate.

    What it had forgotten stays so, whatever lateness the settings give now.
    """
    since = rules.NEVER
    if before is not None and before.policy.deduplicate and how.policy.deduplicate:
        since, _ = lateness.cutoffs(before.policy.reports, batch.before.watermark)
    event_ids.forget(warehouse, since, batch.number)
    return event_ids.remembered(warehouse) if how.policy.deduplicate else None


def _show_the_last_of(names: Collection[str], resources: Resources, batch: Batch, before: Policy) -> None:
    """Publishes what had fired of reports that go now and was not shown yet: after this they have no panes."""
    reports = [report for report in before.reports if report.name in names]
    made = {report.name for report in layout.stored_reports([one.name for one in reports], resources.warehouse)}
    if not made:
        return
    going = replace(before, reports=tuple(report for report in reports if report.name in made), totals=None)
    firings, _ = window_states.at_start(_states(resources, going), batch.after.watermark, batch.number)
    publication = Publication(resources.warehouse, kinds_of(resources.warehouse, going, resources.large))
    publication.publish({name: firing for name, firing in firings.items() if firing}, batch.number)


def _close(warehouse: str, number: int, gone: Mapping[str, int]) -> None:
    """Reports that are not configured any more are final up to a time each, and then their panes go."""
    dropped = layout.stored_reports(gone, warehouse)
    for report in dropped:
        # First, for without panes there is nothing that what is shown could be told from again.
        if published(warehouse, result_of(report)).closed_until < gone[report.name]:
            Results(warehouse, result_of(report)).close(number, gone[report.name])
    housekeeping.remove_panes(warehouse, [report.name for report in dropped])


def _states(resources: Resources, policy: Policy) -> States:
    """The states of the windows, by panes, results and ledger."""
    done = {report.name: published(resources.warehouse, result_of(report)) for report in policy.reports}
    by_time = (done[report.name].closed_until for report in policy.reports if report.windows.by_time)
    steps = resources.ledger.watermarks(min(by_time, default=rules.NEVER))
    return window_states.restored(policy, housekeeping.pane_starts(resources.warehouse), done, tuple(steps))
