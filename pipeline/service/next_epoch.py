"""What the next epoch would begin with, from the ledger and the topic. It is read only: nothing is made or changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pipeline.errors import SetUpError
from pipeline.event_time import settings_change
from pipeline.event_time.batch import EPOCH, Batch, LedgerRow
from pipeline.event_time.tallies import Tallies
from pipeline.event_time.watermark import Frontier, PartitionState
from pipeline.kafka.topic import Identity
from pipeline.results import layout
from pipeline.service.resources import Ground
from pipeline.service.same_topic import require_same
from pipeline.settings.model import KafkaSettings
from pipeline.settings.start_position import parse_start_position
from pipeline.tables.opening import Opening, require_key, with_closed


@dataclass(frozen=True, slots=True)
class NextEpoch:
    """The batch that opens it, its rules, and those of the epochs before it that may not have been carried out."""

    batch: Batch
    how: Opening
    earlier: Sequence[Opening]
    """The opening of the last epoch with a batch, and those after it, in order; empty in a new warehouse.

    Of an epoch without a batch nobody knows how far its start came.
    """

    @property
    def dropped(self) -> set[str]:
        """The consumers of panes that one of these openings has, and the next one has not."""
        names = [{consumer.name for consumer in one.policy.consumers} for one in (*self.earlier, self.how)]
        return {name for before, after in pairwise(names) for name in before - after}

    @property
    def is_reset(self) -> bool:
        """Whether the watermark was reset since the last batch."""
        return any(one.reset is not None for one in self.earlier)

    @property
    def remembers(self) -> bool:
        """Whether each epoch since the last batch, and this one, deduplicates events."""
        return bool(self.earlier) and all(one.policy.deduplicate for one in (*self.earlier, self.how))


def next_epoch(
    ground: Ground, kafka: KafkaSettings, rows: Sequence[LedgerRow], process: str | None = None
) -> NextEpoch:
    """The next epoch after the ledger's newest `rows`, which `process` opens.

    Raises SetUpError where ledger, topic and settings do not fit together, TransientError if the broker does not
    answer.
    """
    layout.check_results(ground.warehouse, ground.policy)
    identity = ground.topic.identity()
    before = ground.ledger.opening(rows[0].epoch) if rows else None
    if before is not None:
        _check_identity(ground, kafka, rows[0].topic, before, identity)
        require_key(before, ground.pseudonyms, ground.warehouse)
    stood = _stood(rows, before, ground, kafka)
    stands, lost = _with_lost(stood, ground, kafka)
    how = replace(_how(ground, rows, before, identity), process=process)
    number = (rows[0].epoch + 1 if rows else 1) * EPOCH
    batch = Batch(number, kafka.topic, stood, stands, Tallies(), {}, ground.now(), how.policy, lost, how.to_text())
    earlier = [*ground.ledger.openings(how.last_batch // EPOCH).values()] if before else []
    return NextEpoch(batch, how, earlier)


def remarks(found: NextEpoch, kafka: KafkaSettings) -> list[str]:
    """What a person should know of it."""
    said = [
        f"{offsets} offsets of partition {number} were deleted before they were read"
        for number, offsets in found.batch.lost.items()
    ]
    if found.earlier and kafka.start != "earliest":
        said.append(f"kafka.start = {kafka.start} is for a new warehouse: this one goes on from its ledger")
    return said


def _check_identity(ground: Ground, kafka: KafkaSettings, topic: str, before: Opening, now: Identity) -> None:
    """Raises SetUpError where the ledger's offsets are not those of the topic that the settings name."""
    if topic != kafka.topic:
        raise SetUpError(
            f"the warehouse {ground.warehouse} holds topic {topic}, not {kafka.topic}. "
            "Name that topic, or another warehouse"
        )
    if before.cluster_id != now.cluster_id:
        raise SetUpError(
            f"the warehouse {ground.warehouse} holds topic {topic} of the cluster {before.cluster_id}, but "
            f"{kafka.bootstrap_servers} is the cluster {now.cluster_id}. Name that cluster, or another warehouse"
        )
    require_same(ground.warehouse, topic, before.topic_id, now.topic_id)


def _stood(rows: Sequence[LedgerRow], before: Opening | None, ground: Ground, kafka: KafkaSettings) -> Frontier:
    """Positions, event times and watermark from the ledger's newest batch, or from the topic in a new warehouse."""
    now, topic = ground.now(), ground.topic
    # A partition that was added since has all its records from 0 on: fewer are a loss.
    start = dict.fromkeys(topic.earliest(), 0) if before else topic.positions(parse_start_position(kafka.start))
    partitions = {number: PartitionState(offset, now) for number, offset in start.items()}
    if before is None:
        return Frontier(partitions)
    trusted = settings_change.measures_alike(before.policy, ground.policy)
    for row in rows:
        partitions[row.partition] = PartitionState(row.to_offset, now, row.max_event_time if trusted else None)
    return Frontier(partitions, rows[0].watermark)


def _with_lost(stood: Frontier, ground: Ground, kafka: KafkaSettings) -> tuple[Frontier, dict[int, int]]:
    """The frontier behind what retention removed before it was read, and how many offsets that are per partition.

    Raises SetUpError where that is not wanted, or where the topic ends before the ledger does.
    """
    earliest, log_ends = ground.topic.earliest(), ground.topic.log_ends()
    moved, lost = dict(stood.partitions), dict[int, int]()
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
            moved[number] = replace(moved[number], position=first)
    return replace(stood, partitions=moved), lost


def _how(ground: Ground, rows: Sequence[LedgerRow], before: Opening | None, identity: Identity) -> Opening:
    """The opening of the new epoch: the settings, and which windows were closed before."""
    known = ground.pseudonyms.fingerprint if ground.pseudonyms else None
    if before is None:
        return Opening(ground.policy, {}, identity.cluster_id, identity.topic_id, pseudonyms=known)
    names = [report.name for report in ground.policy.reports]
    closed = settings_change.closed(before.policy, before.closed, rows[0].watermark, names)
    last = rows[0].batch if rows[0].batch % EPOCH else before.last_batch
    policy = with_closed(ground.policy, closed)
    return Opening(policy, closed, identity.cluster_id, identity.topic_id, last, pseudonyms=known)
