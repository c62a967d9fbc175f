"""Summary of the ledger: the newest batch, the state of each partition, and the balance of record counts."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Self

from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.policy import Policy, Verdict
from tidemark.pipeline.tables.file_statistics import highest
from tidemark.pipeline.tables.ledger import has_columns, rate_of, recent_rows, sums_sql
from tidemark.pipeline.tables.opening import read_opening
from tidemark.pipeline.tables.query import Row, rows_of


@dataclass(frozen=True, slots=True)
class Account:
    """Sums over batches: offsets read, and the number of records by verdict."""

    offsets: int = 0
    records: int = 0
    counted: int = 0
    partly_late: int = 0
    """Counted records that were too late for some of their windows."""
    too_late: int = 0
    future: int = 0
    malformed: int = 0
    gap: int = 0
    lost: int = 0
    duplicate: int = 0
    erased: int = 0
    left_out: int = 0
    """Records of kinds that are not mapped."""
    unsettled: int = 0
    """By arrival, events that were not judged at their arrival: another reading of the topic may differ in them."""
    unjudged: int = 0
    """Counted records that were read before there was a watermark: it is unknown whether they came late."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in _COUNTS))

    @property
    def rejected(self) -> int:
        """Records that no window counts."""
        return self.too_late + self.future + self.malformed + self.erased

    @property
    def dead_letters(self) -> int:
        """Dead letters: the rejected records, and the counted records that some windows missed."""
        return self.rejected + self.partly_late

    @property
    def balances(self) -> bool:
        """Whether each offset is a record, a gap or lost, and each record has one verdict."""
        verdicts = self.counted + self.duplicate + self.left_out + self.rejected
        return self.records == verdicts and self.offsets == self.records + self.gap + self.lost


_COUNTS: Final = tuple(field.name for field in fields(Account))


def account_sql(ledger: DeltaTable) -> str:
    """Returns the columns of a SELECT for `account_of`."""
    return f"sum(to_offset - from_offset) AS offsets, {sums_sql(ledger, _COUNTS[1:-1])}, {unjudged_sql(ledger)}"


def unjudged_sql(ledger: DeltaTable) -> str:
    """SQL: the number of counted records that were read before there was a watermark; by arrival there are none."""
    by_batch = "AND arrived_before IS NULL" if has_columns(ledger, ["arrived_before"]) else ""
    return f"sum(CASE WHEN watermark_before IS NULL {by_batch} THEN counted ELSE 0 END) AS unjudged"


def account_of(row: Row) -> Account:
    """Builds an account from a row that was selected with `account_sql`."""
    return Account(*(row[name] or 0 for name in _COUNTS))


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """A Kafka partition as of the newest batch; times in milliseconds."""

    partition: int
    to_offset: int
    max_event_time: int | None
    last_event_at: int
    """Time of the batch with its newest event, or the start of the epoch if that is later."""


@dataclass(frozen=True, slots=True)
class LedgerSummary:
    """The ledger as of its newest batch; times in milliseconds."""

    table_id: str
    """Delta's id of the ledger: a warehouse that was recreated in the same folder has another one."""
    batch: int
    topic: str
    committed_at: int
    watermark: int | None
    opened_at: int
    policy: Policy
    partitions: tuple[PartitionStatus, ...]
    accounts: Mapping[int, Account]
    """Sums over all batches, by partition."""
    last_event_at: Mapping[int, int]
    """Time of the newest batch with an event, by partition."""
    records_per_second: float | None
    """Rate over the last few batches of the epoch; None if unknown."""

    @property
    def epoch(self) -> int:
        """Number of the epoch, which counts starts of the service."""
        return self.batch // EPOCH

    @property
    def batch_in_epoch(self) -> int:
        """Number of the newest batch within its epoch; 0 opened the epoch."""
        return self.batch % EPOCH

    @property
    def account(self) -> Account:
        """Sums over all partitions."""
        return sum(self.accounts.values(), Account())


def read_summary(ledger: DeltaTable, previous: LedgerSummary | None) -> LedgerSummary | None:
    """Returns the summary; None before the first batch.

    Reads only batches after `previous`, because rows never change, unless `previous` is of another table.
    """
    newest: int | None = highest(ledger, c.BATCH)
    if newest is None:
        return None
    table_id = str(ledger.metadata().id)
    base = previous if previous and previous.table_id == table_id else None
    if base and base.batch == newest:
        return base
    recent = recent_rows(ledger, newest)
    last = [row for row in recent if row[c.BATCH] == newest]
    policy, opened_at = _opening(ledger, newest // EPOCH * EPOCH, base)
    accounts, last_event_at = _accounts(ledger, base)
    return LedgerSummary(
        table_id=table_id,
        batch=newest,
        topic=last[0][c.TOPIC],
        committed_at=last[0]["committed_at"],
        watermark=last[0][c.WATERMARK],
        opened_at=opened_at,
        policy=policy,
        partitions=tuple(
            _partition_status(row, max(opened_at, last_event_at.get(row[c.PARTITION], 0))) for row in last
        ),
        accounts=accounts,
        last_event_at=last_event_at,
        records_per_second=rate_of(recent),
    )


def _opening(ledger: DeltaTable, first: int, previous: LedgerSummary | None) -> tuple[Policy, int]:
    """Returns the policy of the epoch that batch `first` opened, and when that was, in ms."""
    if previous and previous.epoch == first // EPOCH:
        return previous.policy, previous.opened_at
    sql = f"SELECT opening, committed_at FROM ledger WHERE {c.BATCH} = {first} AND opening IS NOT NULL LIMIT 1"  # noqa: S608 - ours
    (row,) = rows_of(sql, ledger=ledger)
    return read_opening(row["opening"]).policy, row["committed_at"]


def _accounts(ledger: DeltaTable, previous: LedgerSummary | None) -> tuple[dict[int, Account], dict[int, int]]:
    """Returns the sums and the time of the last event by partition: those in `previous` and the batches since."""
    rows = rows_of(
        f"SELECT {c.PARTITION}, {account_sql(ledger)}, "  # noqa: S608 - our own names
        f"max(CASE WHEN {_events_sql(ledger)} > 0 THEN committed_at END) AS last_event_at FROM ledger "
        f"WHERE {c.BATCH} > {previous.batch if previous else 0} GROUP BY {c.PARTITION}",
        ledger=ledger,
    )
    accounts, last_event_at = (dict(previous.accounts), dict(previous.last_event_at)) if previous else ({}, {})
    for row in rows:
        partition = row[c.PARTITION]
        accounts[partition] = accounts.get(partition, Account()) + account_of(row)
        if row["last_event_at"] is not None:
            last_event_at[partition] = row["last_event_at"]
    return accounts, last_event_at


def _events_sql(ledger: DeltaTable) -> str:
    """Returns SQL of the records of a row that keep a partition from being idle, see `Tally.events`."""
    others = [name for name in (Verdict.MALFORMED, Verdict.LEFT_OUT) if has_columns(ledger, [name])]
    return " - ".join([c.RECORDS, *(f"coalesce({name}, 0)" for name in others)])


def _partition_status(row: Row, last_event_at: int) -> PartitionStatus:
    return PartitionStatus(row[c.PARTITION], row["to_offset"], row[c.MAX_EVENT_TIME], last_event_at)
