"""What the observer needs of a committed batch: the shape of `pipeline.event_time.batch.Batch` and its ledger rows."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from pipeline.event_time.watermark import Frontier
from pipeline.event_time.window_states import Firings


class CommittedRow(Protocol):
    """A Kafka partition in a batch: offsets `[from_offset, to_offset)` and records by verdict."""

    @property
    def from_offset(self) -> int: ...  # noqa: D102 - the ledger's columns are explained in its table
    @property
    def to_offset(self) -> int: ...  # noqa: D102
    @property
    def records(self) -> int: ...  # noqa: D102
    @property
    def counted(self) -> int: ...  # noqa: D102
    @property
    def partly_late(self) -> int: ...  # noqa: D102
    @property
    def too_late(self) -> int: ...  # noqa: D102
    @property
    def future(self) -> int: ...  # noqa: D102
    @property
    def malformed(self) -> int: ...  # noqa: D102
    @property
    def gap(self) -> int: ...  # noqa: D102


class Ages(Protocol):
    """How old the records were when the batch was folded."""

    @property
    def ages_ms(self) -> Mapping[int, int]:
        """Records by age in milliseconds."""


class CommittedBatch(Protocol):
    """A batch that the ledger has; times in milliseconds."""

    @property
    def after(self) -> Frontier:
        """The frontier that the batch left behind."""

    @property
    def firings(self) -> Firings:
        """The windows it fired, fired again and closed."""

    @property
    def open_windows(self) -> Mapping[str, int]:
        """How many windows it left that are not closed, by report."""

    @property
    def folded_at(self) -> int:
        """The moment at which its ages were taken."""

    @property
    def tallies(self) -> Ages:
        """What it brought."""

    def ledger_rows(self, committed_at: int) -> Sequence[CommittedRow]:
        """What was committed, one row per partition."""


class TableSize(Protocol):
    """How large a table is, by its live files."""

    @property
    def rows(self) -> int: ...  # noqa: D102 - they say what they are
    @property
    def bytes(self) -> int: ...  # noqa: D102
    @property
    def files(self) -> int: ...  # noqa: D102


def imbalance(row: CommittedRow) -> int:
    """Records and offsets of a ledger row that nothing accounts for; 0 unless something is broken."""
    verdicts = row.counted + row.too_late + row.future + row.malformed
    return abs(row.records - verdicts) + abs(row.to_offset - row.from_offset - row.records - row.gap)
