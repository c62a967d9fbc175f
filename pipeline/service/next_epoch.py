"""The start of the next epoch: facts from ledger, tables and topic are gathered, then a pure function decides.

This module creates and changes nothing.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tidemark.command_line.counts import counted
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time import lateness, rules, settings_change
from tidemark.pipeline.event_time.arrival import ArrivalState
from tidemark.pipeline.event_time.batch import EPOCH, Batch, LedgerRow, arrival_after
from tidemark.pipeline.event_time.certain import certain_watermark
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.tallies import Tallies
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState
from tidemark.pipeline.kafka.topic import Identity
from tidemark.pipeline.pseudonyms import Pseudonyms
from tidemark.pipeline.results import layout
from tidemark.pipeline.results.missing_panes import will_be_missing_until
from tidemark.pipeline.service.resources import Ground
from tidemark.pipeline.service.same_topic import require_same
from tidemark.pipeline.settings.model import KafkaSettings
from tidemark.pipeline.settings.start_position import parse_start_position
from tidemark.pipeline.tables.changed_meaning import Meaning, changes, require_same_meaning
from tidemark.pipeline.tables.one_time import require_new, require_one_time
from tidemark.pipeline.tables.opening import Opening, require_key, with_closed


@dataclass(frozen=True, slots=True)
class TopicState:
    """The topic as the broker reports it; offsets by partition."""

    identity: Identity
    earliest: Mapping[int, int]
    log_ends: Mapping[int, int]
    start: Mapping[int, int]
    """Where `kafka.start` places a new warehouse; empty if the warehouse has an epoch."""


@dataclass(frozen=True, slots=True)
class StartFacts:
    """Everything that decides how the next epoch starts."""

    warehouse: str
    policy: Policy
    """As configured."""
    kafka: KafkaSettings
    pseudonyms: Pseudonyms | None
    meaning: Meaning
    rows: Sequence[LedgerRow]
    """The ledger's newest batch; empty in a new warehouse."""
    openings: Sequence[Opening]
    """The opening of the last epoch with a batch, and those after it, in order; empty in a new warehouse."""
    missing: Mapping[str, int]
    """By configured report the end, in ms, up to which it stays closed because panes are missing."""
    topic: TopicState
    now: int
    """The service's clock, in milliseconds."""

    @property
    def newest_opening(self) -> Opening | None:
        """The opening of the newest epoch."""
        return self.openings[-1] if self.openings else None


@dataclass(frozen=True, slots=True)
class NextEpoch:
    """The plan of an epoch: the batch that opens it, its opening, and what earlier starts may have left undone."""

    batch: Batch
    opening: Opening
    earlier: Sequence[Opening]
    """The opening of the last epoch with a batch, and those after it, in order; empty in a new warehouse.

    How far the start of an epoch without a batch came is unknown.
    """

    @property
    def added(self) -> set[str]:
        """Consumers of panes that the epoch before lacks; empty in a new warehouse."""
        return _consumer_names(self.opening) - _consumer_names(self.earlier[-1]) if self.earlier else set()

    @property
    def missing_now(self) -> set[str]:
        """Consumers of panes that only the epoch before has."""
        return _consumer_names(self.earlier[-1]) - _consumer_names(self.opening) if self.earlier else set()

    @property
    def lost_since_last_batch(self) -> set[str]:
        """Consumers of panes that an opening has and the next opening lacks."""
        names = [_consumer_names(opening) for opening in (*self.earlier, self.opening)]
        return {name for before, after in pairwise(names) for name in before - after}

    @property
    def closed_reports(self) -> dict[str, int]:
        """The time in ms up to which each dropped report is final, by name."""
        if not self.earlier:
            return {}
        names = {*self.opening.closed} - _consumer_names(self.opening) | self.lost_since_last_batch
        return {name: time for name, time in self.opening.closed.items() if name in names}

    @property
    def is_reset(self) -> bool:
        """Whether the watermark was reset since the last batch."""
        return any(opening.reset is not None for opening in self.earlier)

    @property
    def forgets_ids_before(self) -> int:
        """Event time in ms before which stored ids are removed.

        It follows from the lateness of the last epoch with a batch: removed ids do not come back if the settings now
        have a longer lateness. If an epoch since did not deduplicate, ids are incomplete: `rules.NEVER` removes all.
        """
        if not self.earlier or not all(opening.policy.deduplicate for opening in (*self.earlier, self.opening)):
            return rules.NEVER
        before = self.earlier[0].policy
        certain = certain_watermark(self.batch.before, before.strategy.delay_ms, self.batch.folded_at)
        return lateness.finals(before.reports, certain).too_late

    def last_policy(self, with_panes: Container[str]) -> Policy | None:
        """Returns the policy of dropped reports that have panes; None without such a report.

        Their windows may have fired without being published, and a reset opened some again. Without panes an earlier
        start came that far, and their results cannot be recomputed.
        """
        before, names = self.earlier[0].policy, {name for name in self.lost_since_last_batch if name in with_panes}
        put_back = min((opening.reset.watermark for opening in self.earlier if opening.reset), default=rules.NEVER)
        reports = tuple(
            replace(report, closed_before_ms=min(report.closed_before_ms, put_back))
            for report in before.reports
            if report.name in names
        )
        return replace(before, reports=reports, totals=None) if reports else None


def _consumer_names(opening: Opening) -> set[str]:
    return {consumer.name for consumer in opening.policy.consumers}


def next_epoch(
    ground: Ground, kafka: KafkaSettings, rows: Sequence[LedgerRow], process: str | None = None
) -> NextEpoch:
    """Returns the next epoch after the ledger's newest `rows`, which `process` opens.

    Raises SetUpError if ledger, topic and settings do not fit together, TransientError if the broker does not answer.
    """
    return decide(gather(ground, kafka, rows), process)


def require_tables_of_one_time(ground: Ground) -> None:
    """Raises SetUpError if a table comes from an older or newer copy than the ledger.

    Called once per start and not at each attempt to commit, because it reads every table: a service that commits
    meanwhile would win each race. That service has made the check itself.
    """
    rows = ground.ledger.latest()
    if not rows:
        require_new(ground.warehouse)
        return
    last_batch = _last_batch(rows, ground.ledger.opening(rows[0].epoch))
    policy = next(iter(ground.ledger.openings(last_batch // EPOCH).values())).policy
    require_one_time(ground.warehouse, ground.ledger, rows[0].batch, last_batch, policy)


def gather(ground: Ground, kafka: KafkaSettings, rows: Sequence[LedgerRow]) -> StartFacts:
    """Reads tables and topic. Raises SetUpError if they do not fit together, TransientError without a broker."""
    layout.check_results(ground.warehouse, ground.policy)
    openings, missing = list[Opening](), dict[str, int]()
    if rows:
        newest = ground.ledger.opening(rows[0].epoch)
        openings = [*ground.ledger.openings(_last_batch(rows, newest) // EPOCH).values()]
        names = [report.name for report in ground.policy.reports if report.windows.by_time]
        missing = will_be_missing_until(ground.warehouse, names, openings)
    topic = ground.topic
    start = {} if rows else topic.positions(parse_start_position(kafka.start))
    state = TopicState(topic.identity(), topic.earliest(), topic.log_ends(), start)
    return StartFacts(
        ground.warehouse,
        ground.policy,
        kafka,
        ground.pseudonyms,
        ground.meaning,
        rows,
        openings,
        missing,
        state,
        ground.now(),
    )


def decide(found: StartFacts, process: str | None = None) -> NextEpoch:
    """Returns the next epoch, which `process` opens. Pure. Raises SetUpError if what was gathered does not fit."""
    if found.newest_opening is not None:
        _check_identity(found, found.newest_opening)
        require_key(found.newest_opening, found.pseudonyms, found.warehouse)
        require_same_meaning(found.rows, found.newest_opening, found.meaning, found.warehouse)
    before = _frontier(found)
    after, lost = _without_lost(found, before)
    how = replace(_opening(found), process=process, meaning=found.meaning.values)
    number = (found.rows[0].epoch + 1 if found.rows else 1) * EPOCH
    batch = Batch(number, found.kafka.topic, before, after, Tallies(), {}, found.now, how.policy, lost, how.to_text())
    return NextEpoch(batch, how, found.openings)


def remarks(found: NextEpoch, kafka: KafkaSettings) -> list[str]:
    """Returns sentences on the next epoch that its operator should read."""
    sentences = [
        f"deleted before they were read: {counted(offsets, 'offset')} of partition {partition}"
        for partition, offsets in found.batch.lost.items()
    ]
    changed = [*changes(found.earlier[-1], found.opening.meaning or {}).values()] if found.earlier else []
    if found.earlier and (was := found.earlier[-1].policy.judged) is not found.opening.policy.judged:
        changed.append(f"time.judged was {was} and is now {found.opening.policy.judged}")
    sentences += [f"{sentence}: that holds for events that are read from now on" for sentence in changed]
    if found.earlier and kafka.start != "earliest":
        sentences.append(
            f"kafka.start = {kafka.start} is for a new warehouse: this warehouse continues from its ledger"
        )
    if found.earlier and found.batch.before.watermark == rules.END_OF_INPUT:
        sentences.append(
            "the input of this warehouse was ended with --end-of-input, so every event is too late: "
            "`tidemark reset-watermark` takes the watermark back"
        )
    return sentences


def _last_batch(rows: Sequence[LedgerRow], newest: Opening) -> int:
    """Returns the last batch that opened no epoch."""
    return rows[0].batch if rows[0].batch % EPOCH else newest.last_batch


def _check_identity(found: StartFacts, newest: Opening) -> None:
    """Raises SetUpError if the ledger's offsets are not those of the configured topic."""
    kafka, topic, identity = found.kafka, found.rows[0].topic, found.topic.identity
    if topic != kafka.topic:
        raise SetUpError(
            f"the warehouse {found.warehouse} holds topic {topic}, not {kafka.topic}. "
            "Name that topic, or another warehouse (docs/operations.md#move)"
        )
    if newest.cluster_id != identity.cluster_id:
        raise SetUpError(
            f"the warehouse {found.warehouse} holds topic {topic} of the cluster {newest.cluster_id}, but "
            f"{kafka.bootstrap_servers} is the cluster {identity.cluster_id}. Name that cluster, or another warehouse "
            "(docs/operations.md#move)"
        )
    require_same(found.warehouse, topic, newest.topic_id, identity.topic_id)


def _frontier(found: StartFacts) -> Frontier:
    """Returns positions, event times and watermark of the ledger's newest batch, or of the start in a new warehouse."""
    if found.newest_opening is None:
        start = {partition: PartitionState(at, found.now) for partition, at in found.topic.start.items()}
        return Frontier({}, arrival=ArrivalState({}) if found.policy.by_arrival else None).with_partitions(start)
    # A partition that was added since has all its records from 0 on: fewer are a loss.
    partitions = {partition: PartitionState(0, found.now) for partition in found.topic.earliest}
    trusted = settings_change.moves_watermark_alike(found.newest_opening.policy, found.policy)
    for row in found.rows:
        partitions[row.partition] = PartitionState(row.to_offset, found.now, row.max_event_time if trusted else None)
    arrival = arrival_after(found.rows, found.policy)
    if arrival is not None:
        arrival = (arrival if trusted else arrival.without_times()).with_partitions(partitions)
    return Frontier(partitions, found.rows[0].watermark, arrival)


def _without_lost(found: StartFacts, before: Frontier) -> tuple[Frontier, dict[int, int]]:
    """Returns the frontier after records that retention deleted unread, and the number of lost offsets by partition.

    Raises SetUpError if the settings do not allow a loss, or if the topic ends before the ledger does.
    """
    moved, lost = dict(before.partitions), dict[int, int]()
    for partition, position in before.positions.items():
        first, end = found.topic.earliest.get(partition, 0), found.topic.log_ends.get(partition, 0)
        if position > end or (position < first and found.kafka.on_data_loss == "stop"):
            raise SetUpError(
                f"the ledger goes on at offset {position} of partition {partition}, but the topic holds [{first}, "
                f"{end}): records were deleted before they were read, or the topic was recreated. Restore the topic, "
                "or use a new warehouse, or set kafka.on_data_loss to record, which records what is lost and goes on"
            )
        if position < first:
            lost[partition] = first - position
            moved[partition] = replace(moved[partition], position=first)
    return replace(before, partitions=moved), lost


def _opening(found: StartFacts) -> Opening:
    """Returns the opening of the new epoch: the settings, and which windows were closed before."""
    key = found.pseudonyms.fingerprint if found.pseudonyms else None
    identity, newest = found.topic.identity, found.newest_opening
    if newest is None:
        return Opening(found.policy, {}, identity.cluster_id, identity.topic_id, pseudonyms=key)
    names = [report.name for report in found.policy.reports]
    closed = settings_change.closed(newest.policy, newest.closed, found.rows[0].watermark, names)
    closed |= {name: max(closed[name], until) for name, until in found.missing.items()}
    has_other_kinds = found.policy.has_other_kinds or newest.policy.has_other_kinds
    policy = replace(with_closed(found.policy, closed), has_other_kinds=has_other_kinds)
    last_batch = _last_batch(found.rows, newest)
    return Opening(policy, closed, identity.cluster_id, identity.topic_id, last_batch, pseudonyms=key)
