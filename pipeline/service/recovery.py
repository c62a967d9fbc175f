"""How a service starts: from the tables alone, and so that no older process can commit any more.

Nothing is made, changed or removed before the epoch is open: whoever finds a mistake until then has done no harm to a
service that runs well.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from pipeline.errors import SetUpError
from pipeline.event_time import opening, rules, window_states
from pipeline.event_time.batch import EPOCH, Batch, LedgerRow
from pipeline.event_time.malformed import MalformedShare
from pipeline.event_time.policy import Policy
from pipeline.event_time.progress import Progress
from pipeline.event_time.tallies import Tallies
from pipeline.event_time.user_totals import UserTotals
from pipeline.event_time.watermark import Frontier, PartitionState
from pipeline.event_time.window_states import States
from pipeline.kafka.topic import Identity
from pipeline.service.publish import publish_due
from pipeline.service.resources import Resources
from pipeline.settings.model import KafkaSettings
from pipeline.settings.start_position import parse_start_position
from pipeline.tables import housekeeping, layout
from pipeline.tables.ledger import replaced
from pipeline.tables.opening import Opening, with_closed
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


@dataclass(slots=True)
class LastEpoch:
    """The epoch that this process opened last, over all its attempts; none before the first."""

    epoch: int | None = None


def open_epoch(resources: Resources, kafka: KafkaSettings, last_epoch: LastEpoch) -> Opened:
    """Opens the next epoch: reads the ledger, fences older processes, removes void rows, republishes what is due.

    Raises SetUpError where ledger, topic and settings do not fit together, Replaced if another service started since
    `last_epoch`.
    """
    layout.check_results(resources.warehouse, resources.policy)
    # What was read must be the newest still when it is acted on: an older service may have committed a batch meanwhile,
    # which would be read again.
    while (found := _try_to_open(resources, kafka, last_epoch)) is None:
        pass
    batch, how, before = found
    last_epoch.epoch = batch.epoch
    _make_tables(resources, batch, how, before)
    states = window_states.begun(how.policy) if before is None else _states(resources, how.policy)
    share = MalformedShare(resources.malformed)
    firings, progress = Progress(batch.topic, how.policy, batch.number, batch.after, states, share).at_start()
    kinds = kinds_of(resources.warehouse, how.policy)
    publication = Publication(resources.warehouse, kinds)
    if any(firings.values()):
        publish_due(resources, publication, firings, batch.number)
    publication.fence([name for name, firing in firings.items() if not firing], batch.number)
    resources.observer.opened(batch.epoch, batch.after, window_states.open_windows(progress.windows))
    republished = sum(len(firing.refired) for firing in firings.values())
    _log.info("epoch opened", epoch=batch.epoch, watermark=batch.after.watermark, republished=republished)
    return Opened(progress, publication, Compaction(resources.warehouse, kinds))


def _try_to_open(
    resources: Resources, kafka: KafkaSettings, last_epoch: LastEpoch
) -> tuple[Batch, Opening, Opening | None] | None:
    """The batch that opens the epoch, how, and the opening before; None if the ledger moved on meanwhile."""
    rows = resources.ledger.latest()
    if last_epoch.epoch is not None and rows[0].epoch > last_epoch.epoch:
        # A service that failed because it was replaced must not start again and replace its successor.
        raise replaced(rows[0].epoch, last_epoch.epoch)
    identity = resources.topic.identity()
    before = resources.ledger.opening(rows[0].epoch) if rows else None
    if before is not None:
        _check_identity(resources, kafka, rows[0].topic, before, identity)
    stood = _stood(rows, before, resources, kafka)
    stands, lost = _with_lost(stood, resources, kafka)
    how = _how(resources, rows, before, identity)
    number = (rows[0].epoch + 1 if rows else 1) * EPOCH
    text, now = how.to_text(), resources.now()
    batch = Batch(number, kafka.topic, stood, stands, Tallies(), {}, now, how.policy, lost, text)
    return (batch, how, before) if resources.ledger.commit_next(batch.ledger_rows(now)) else None


def _check_identity(resources: Resources, kafka: KafkaSettings, topic: str, before: Opening, now: Identity) -> None:
    """Raises SetUpError where the ledger's offsets are not those of the topic that the settings name."""
    if topic != kafka.topic:
        raise SetUpError(
            f"the warehouse {resources.warehouse} holds topic {topic}, not {kafka.topic}. "
            "Name that topic, or another warehouse"
        )
    if before.cluster_id != now.cluster_id:
        raise SetUpError(
            f"the warehouse {resources.warehouse} holds topic {topic} of the cluster {before.cluster_id}, but "
            f"{kafka.bootstrap_servers} is the cluster {now.cluster_id}. Name that cluster, or another warehouse"
        )
    if before.topic_id != now.topic_id:
        raise SetUpError(
            f"topic {topic} was deleted and made anew since the warehouse {resources.warehouse} was written (its id "
            f"was {before.topic_id} and is {now.topic_id}): the ledger's offsets mean nothing in it. "
            "Use a new warehouse"
        )


def _stood(rows: Sequence[LedgerRow], before: Opening | None, resources: Resources, kafka: KafkaSettings) -> Frontier:
    """Positions, event times and watermark from the ledger's newest batch, or from the topic in a new warehouse."""
    now = resources.now()
    if before is None:
        begin = resources.topic.positions(parse_start_position(kafka.start))
        return Frontier({number: PartitionState(offset, now) for number, offset in begin.items()})
    if kafka.start != "earliest":
        _log.warning("kafka.start is for a new warehouse: this one goes on from its ledger", ignored=kafka.start)
    trusted = opening.measures_alike(before.policy, resources.policy)
    known = {row.partition: PartitionState(row.to_offset, now, row.max_event_time if trusted else None) for row in rows}
    added = {
        number: PartitionState(offset, now)
        for number, offset in resources.topic.earliest().items()
        if number not in known
    }
    return Frontier({**known, **added}, rows[0].watermark)


def _with_lost(stood: Frontier, resources: Resources, kafka: KafkaSettings) -> tuple[Frontier, dict[int, int]]:
    """The frontier behind what retention removed before it was read, and how many offsets that are per partition.

    Raises SetUpError where that is not wanted, or where the topic ends before the ledger does.
    """
    earliest, log_ends, lost = resources.topic.earliest(), resources.topic.log_ends(), dict[int, int]()
    for number, position in stood.positions.items():
        first, end = earliest.get(number, 0), log_ends.get(number, 0)
        if position > end or (position < first and kafka.on_data_loss == "stop"):
            raise SetUpError(
                f"the ledger goes on at offset {position} of partition {number}, but the topic holds [{first}, {end}): "
                "records were deleted before they were read, or the topic was made anew. Restore the topic, or use a "
                "new warehouse, or set kafka.on_data_loss to record, which writes down what is lost and goes on"
            )
        if position < first:
            lost[number] = first - position
            _log.warning("records were deleted before they were read", partition=number, offsets=lost[number])
    moved = {
        number: replace(state, position=state.position + lost.get(number, 0))
        for number, state in stood.partitions.items()
    }
    return replace(stood, partitions=moved), lost


def _how(resources: Resources, rows: Sequence[LedgerRow], before: Opening | None, identity: Identity) -> Opening:
    """The opening of the new epoch: the settings, and which windows were closed before."""
    if before is None:
        return Opening(resources.policy, {}, identity.cluster_id, identity.topic_id)
    names = [report.name for report in resources.policy.reports]
    closed = opening.closed(before.policy, before.closed, rows[0].watermark, names)
    last = rows[0].batch if rows[0].batch % EPOCH else before.last_batch
    return Opening(with_closed(resources.policy, closed), closed, identity.cluster_id, identity.topic_id, last)


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


def _show_the_last_of(names: Collection[str], resources: Resources, batch: Batch, before: Policy) -> None:
    """Publishes what had fired of reports that go now and was not shown yet: after this they have no panes."""
    reports = [report for report in before.reports if report.name in names]
    made = {report.name for report in layout.stored_reports([one.name for one in reports], resources.warehouse)}
    if not made:
        return
    going = replace(before, reports=tuple(report for report in reports if report.name in made), totals=None)
    firings, _ = window_states.at_start(_states(resources, going), batch.after.watermark, batch.number)
    publication = Publication(resources.warehouse, kinds_of(resources.warehouse, going))
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
