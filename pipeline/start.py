"""How a service starts: from the tables alone, and so that no older process can commit any more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

import structlog

from pipeline.batch import Batch, Tallies
from pipeline.begin import parse_begin
from pipeline.errors import SetUpError
from pipeline.parts import Parts
from pipeline.publish import publish_due
from pipeline.settings import KafkaSettings
from pipeline.tables import housekeeping
from pipeline.tables.ledger import EPOCH, LedgerRow, replaced
from pipeline.tables.results import last_published
from pipeline.time.lives import Lives, anything
from pipeline.time.watermark import Frontier, PartitionState

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Opened:
    """Where a new epoch begins."""

    number: int
    frontier: Frontier
    lives: Lives
    last_batches: dict[int, int]
    """Of the epochs before: the last batch that each committed."""


@dataclass(slots=True)
class Tenure:
    """The epoch that this process opened last, over all its attempts; none before the first."""

    epoch: int | None = None


def open_epoch(parts: Parts, kafka: KafkaSettings, tenure: Tenure) -> Opened:
    """Opens the next epoch: reads the ledger, fences older processes, removes void rows, republishes what is due.

    Raises SetUpError where ledger and topic do not fit together, Replaced if another service started since `tenure`
    began.
    """
    opened = None
    # What was read must be the newest still when it is acted on: an older service may have committed a batch meanwhile,
    # which would be read again.
    while opened is None:
        opened = _try_to_open(parts, kafka, tenure)
    number, frontier, before = opened
    tenure.epoch = number // EPOCH
    housekeeping.delete_void(parts.warehouse, before)
    lives = _lives(parts) if before else Lives(parts.policy.reports)
    dues = lives.at_start(frontier.watermark)
    if anything(dues):
        publish_due(parts, dues, number, before)
    parts.compaction.fence(number)
    parts.publication.fence([name for name, due in dues.items() if not due], number)
    parts.observer.opened(number // EPOCH, frontier)
    republished = sum(len(due.again) for due in dues.values())
    _log.info("epoch opened", epoch=number // EPOCH, watermark=frontier.watermark, republished=republished)
    return Opened(number, frontier, lives, before)


def _try_to_open(parts: Parts, kafka: KafkaSettings, tenure: Tenure) -> tuple[int, Frontier, dict[int, int]] | None:
    """First batch id, frontier, and the last batch of each epoch before; None if the ledger moved on meanwhile."""
    rows, before = parts.ledger.latest(), parts.ledger.last_batches()
    if tenure.epoch is not None and rows[0].epoch > tenure.epoch:
        _give_way(parts, rows[0].epoch, tenure.epoch)
    frontier = _frontier(rows, parts, kafka)
    number = (rows[0].epoch + 1 if rows else 1) * EPOCH
    opening = Batch(number, kafka.topic, frontier, frontier, Tallies(), {}, parts.now(), parts.policy)
    return (number, frontier, before) if parts.ledger.commit_next(opening.ledger_rows(parts.now())) else None


def _give_way(parts: Parts, newest_epoch: int, own_epoch: int) -> NoReturn:
    """A service that failed because it was replaced must not start again and replace its successor."""
    housekeeping.delete_void(parts.warehouse, {own_epoch: parts.ledger.last_batches()[own_epoch]})
    raise replaced(newest_epoch, own_epoch)


def _frontier(rows: list[LedgerRow], parts: Parts, kafka: KafkaSettings) -> Frontier:
    """Positions, event times and watermark from the ledger's newest batch, or from the topic in a new warehouse."""
    earliest, now = parts.topic.earliest(), parts.now()
    if not rows:
        begin = parts.topic.positions(parse_begin(kafka.start))
        return Frontier({number: PartitionState(offset, now) for number, offset in begin.items()})
    if kafka.start != "earliest":
        _log.warning("kafka.start is for a new warehouse: this one goes on from its ledger", ignored=kafka.start)
    if rows[0].topic != kafka.topic:
        raise SetUpError(
            f"the warehouse {parts.warehouse} holds topic {rows[0].topic}, not {kafka.topic}. "
            "Name that topic, or another warehouse"
        )
    known = {row.partition: PartitionState(row.to_offset, now, row.max_event_time) for row in rows}
    _check_offsets({number: state.position for number, state in known.items()}, earliest, parts.topic.log_ends())
    added = {number: PartitionState(offset, now) for number, offset in earliest.items() if number not in known}
    return Frontier({**known, **added}, rows[0].watermark)


def _check_offsets(positions: Mapping[int, int], earliest: Mapping[int, int], log_ends: Mapping[int, int]) -> None:
    for number, position in positions.items():
        first, end = earliest.get(number, 0), log_ends.get(number, 0)
        if not first <= position <= end:
            raise SetUpError(
                f"the ledger goes on at offset {position} of partition {number}, but the topic holds [{first}, {end}): "
                "records were deleted before they were read, or the topic was made anew. Use a new warehouse, "
                "or restore the topic"
            )


def _lives(parts: Parts) -> Lives:
    """The windows that panes tell of, less those known to be closed and published."""
    watermarks, lives = parts.ledger.watermarks(), Lives(parts.policy.reports)
    panes = housekeeping.pane_starts(parts.warehouse)
    for report in parts.policy.reports:
        last = last_published(parts.warehouse, report) or 0
        lives.restore(report.name, panes[report.name], last, watermarks)
    return lives
