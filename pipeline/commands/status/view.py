"""The state of a warehouse, for a terminal."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipeline.commands.times import span_of, time_of
from pipeline.event_time.policy import REJECTED, Verdict

_DAY = len("2026-01-01 ")


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """Where a Kafka partition stands: the next offset to read, and the highest event time in milliseconds."""

    partition: int
    committed_offset: int
    max_event_time: int | None


@dataclass(frozen=True, slots=True)
class WindowStatus:
    """The counts of a report in the window `[start_ms, end_ms)`, by their names."""

    start_ms: int
    end_ms: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Status:
    """A warehouse at rest; times in milliseconds, None where nothing was committed yet."""

    warehouse: str
    topic: str = ""
    epoch: int | None = None
    batch: int | None = None
    """Number of the last batch in its epoch; 0 opened it."""
    committed_at: int | None = None
    watermark: int | None = None
    records_per_second: float | None = None
    """Over the last few batches."""
    partitions: tuple[PartitionStatus, ...] = ()
    verdicts: Mapping[Verdict, int] = field(default_factory=dict)
    partly_late: int = 0
    """Of those counted: too late for some of their windows."""
    report: str = ""
    windows: tuple[WindowStatus, ...] = ()
    """The latest ones of the report, newest first."""


def render(status: Status, now_ms: int) -> RenderableType:
    """The whole status, to be printed once or again and again."""
    if status.epoch is None:
        return Text(f"{status.warehouse}: no service has opened this warehouse yet")
    beside = Columns([_partitions(status), _verdicts(status)], padding=(0, 3))
    return Group(_head(status, now_ms), "", beside, "", _windows(status))


def _head(status: Status, now_ms: int) -> Table:
    head = Table.grid(padding=(0, 2))
    rate = status.records_per_second
    lines = {
        "warehouse": status.warehouse,
        "topic": status.topic,
        "epoch": str(status.epoch),
        "last batch": f"{status.batch}, committed {_ago(status.committed_at, now_ms)}",
        "watermark": f"{time_of(status.watermark)}, {_behind(status.watermark, now_ms)}",
        "rate": "-" if rate is None else f"{rate:,.0f} records/s over the last batches",
    }
    for name, value in lines.items():
        head.add_row(Text(name, "bold"), Text(value))  # no markup: a path may have brackets
    return head


def _partitions(status: Status) -> Table:
    table = _table("partition", "committed offset", "highest event time")
    for row in status.partitions:
        table.add_row(str(row.partition), f"{row.committed_offset:,}", time_of(row.max_event_time))
    return table


def _verdicts(status: Status) -> Table:
    """Counted, duplicates, and the dead letters by reason."""
    counts = {verdict: status.verdicts.get(verdict, 0) for verdict in Verdict}
    table = _table("verdict", "records")
    for verdict, records in counts.items():
        table.add_row(verdict.value, f"{records:,}")
    table.add_section()
    table.add_row("rejected", f"{sum(counts[verdict] for verdict in REJECTED):,}")
    table.add_row("partly late", f"{status.partly_late:,}")
    return table


def _windows(status: Status) -> Table:
    names = status.windows[0].counts if status.windows else ()
    table = _table(f"{status.report} (UTC)", *(name.replace("_", " ") for name in names))
    for row in status.windows:
        numbers = (f"{number:,}" for number in row.counts.values())
        start, end = time_of(row.start_ms), time_of(row.end_ms)
        # The day once, where it is the same: a terminal of 80 columns has room for all then.
        table.add_row(f"[{start}, {end.removeprefix(start[:_DAY])})", *numbers)
    return table


def _table(first: str, *others: str) -> Table:
    table = Table()
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _ago(milliseconds: int | None, now_ms: int) -> str:
    return "never" if milliseconds is None else f"{time_of(milliseconds)} ({span_of(now_ms - milliseconds)} ago)"


def _behind(milliseconds: int | None, now_ms: int) -> str:
    return "nothing fires" if milliseconds is None else f"{span_of(now_ms - milliseconds)} behind the clock"
