"""What the ledger says: the newest batch, where each partition stands, and whether the account balances."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Self

from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.event_time.batch import EPOCH
from pipeline.event_time.policy import Policy
from pipeline.tables.file_statistics import highest
from pipeline.tables.ledger import rate_of, recent_rows, sums_sql
from pipeline.tables.opening import Opening
from pipeline.tables.query import Row, rows_of


@dataclass(frozen=True, slots=True)
class Account:
    """Sums over batches: offsets taken, and what became of them."""

    offsets: int = 0
    records: int = 0
    counted: int = 0
    partly_late: int = 0
    """Of the counted: too late for some of their windows."""
    too_late: int = 0
    future: int = 0
    malformed: int = 0
    gap: int = 0
    lost: int = 0
    duplicate: int = 0
    erased: int = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in _COUNTS))

    @property
    def rejected(self) -> int:
        """Records that are dead letters for all windows."""
        return self.too_late + self.future + self.malformed + self.erased

    @property
    def balances(self) -> bool:
        """Whether every offset is a record, a gap or lost, and every record has its verdict."""
        verdicts = self.counted + self.duplicate + self.rejected
        return self.records == verdicts and self.offsets == self.records + self.gap + self.lost


_COUNTS: Final = tuple(field.name for field in fields(Account))


def account_sql(ledger: DeltaTable) -> str:
    """The SQL of an account."""
    return f"sum(to_offset - from_offset) AS offsets, {sums_sql(ledger, _COUNTS[1:])}"


def account_of(row: Row) -> Account:
    """The account of a row that has the sums."""
    return Account(*(row[name] or 0 for name in _COUNTS))


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """A Kafka partition as of the newest batch; times in milliseconds."""

    partition: int
    to_offset: int
    max_event_time: int | None
    last_record_at: int
    """When it last brought a record; or the epoch began, where that is later."""


@dataclass(frozen=True, slots=True)
class LedgerSummary:
    """The ledger as of its newest batch; times in milliseconds."""

    batch: int
    topic: str
    committed_at: int
    watermark: int | None
    opened_at: int
    policy: Policy
    partitions: tuple[PartitionStatus, ...]
    accounts: Mapping[int, Account]
    """By partition, over all batches."""
    last_record_at: Mapping[int, int]
    """When each partition last brought a record, over all batches."""
    records_per_second: float | None
    """Over the last few batches of the epoch."""

    @property
    def epoch(self) -> int:
        """Which life of the service it is."""
        return self.batch // EPOCH

    @property
    def batch_in_epoch(self) -> int:
        """The newest batch in its epoch; 0 opened it."""
        return self.batch % EPOCH

    @property
    def account(self) -> Account:
        """Of all partitions."""
        return sum(self.accounts.values(), Account())


def read_summary(ledger: DeltaTable, known: LedgerSummary | None) -> LedgerSummary | None:
    """The summary; None before the first batch. What is `known` is not read again, for rows never change."""
    newest: int | None = highest(ledger, c.BATCH)
    if newest is None or (known and known.batch == newest):
        return known
    since = known if known and known.batch < newest else None  # else it is another warehouse in the same place
    recent = recent_rows(ledger, newest)
    last = [row for row in recent if row[c.BATCH] == newest]
    policy, opened_at = _opening(ledger, newest // EPOCH * EPOCH, since)
    accounts, last_record_at = _accounts(ledger, since)
    return LedgerSummary(
        batch=newest,
        topic=last[0][c.TOPIC],
        committed_at=last[0]["committed_at"],
        watermark=last[0][c.WATERMARK],
        opened_at=opened_at,
        policy=policy,
        partitions=tuple(_partition(row, max(opened_at, last_record_at.get(row[c.PARTITION], 0))) for row in last),
        accounts=accounts,
        last_record_at=last_record_at,
        records_per_second=rate_of(recent),
    )


def _opening(ledger: DeltaTable, first: int, known: LedgerSummary | None) -> tuple[Policy, int]:
    """The rules of the epoch that a batch opened, and when."""
    if known and known.epoch == first // EPOCH:
        return known.policy, known.opened_at
    sql = f"SELECT opening, committed_at FROM ledger WHERE {c.BATCH} = {first} AND opening IS NOT NULL LIMIT 1"  # noqa: S608 - ours
    (row,) = rows_of(sql, ledger=ledger)
    return Opening.from_text(row["opening"]).policy, row["committed_at"]


def _accounts(ledger: DeltaTable, known: LedgerSummary | None) -> tuple[dict[int, Account], dict[int, int]]:
    """The sums of each partition, and when it was last last_record_at of: the known ones with the batches since."""
    rows = rows_of(
        f"SELECT {c.PARTITION}, {account_sql(ledger)}, "  # noqa: S608 - our own names
        f"max(CASE WHEN {c.RECORDS} > 0 THEN committed_at END) AS last_record_at FROM ledger "
        f"WHERE {c.BATCH} > {known.batch if known else 0} GROUP BY {c.PARTITION}",
        ledger=ledger,
    )
    accounts, last_record_at = (dict(known.accounts), dict(known.last_record_at)) if known else ({}, {})
    for row in rows:
        number = row[c.PARTITION]
        accounts[number] = accounts.get(number, Account()) + account_of(row)
        if row["last_record_at"] is not None:
            last_record_at[number] = row["last_record_at"]
    return accounts, last_record_at


def _partition(row: Row, last_record_at: int) -> PartitionStatus:
    return PartitionStatus(row[c.PARTITION], row["to_offset"], row[c.MAX_EVENT_TIME], last_record_at)
