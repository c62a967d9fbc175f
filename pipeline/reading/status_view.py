"""Formats the status of a warehouse for a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from command_line.terminal import Columns, Group, RenderableType, Table, styled
from pipeline.event_time import rules
from pipeline.event_time.policy import Verdict
from pipeline.instants import span_of, time_of
from pipeline.reading.ledger_summary import Account, LedgerSummary, PartitionStatus

_DAY = len("2026-01-01 ")


@dataclass(frozen=True, slots=True)
class WindowStatus:
    """The counts of a report in the window `[start_ms, end_ms)`, by their names."""

    start_ms: int
    end_ms: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a warehouse as of its last commit."""

    warehouse: str
    summary: LedgerSummary | None = None
    """None before the first commit."""
    report: str = ""
    windows: tuple[WindowStatus, ...] = ()
    """The latest windows of the report, newest first."""


def render(status: Status, now_ms: int) -> RenderableType:
    """Returns the status as text; `now_ms` is the time for ages."""
    if status.summary is None:
        return f"{status.warehouse}: no service has opened this warehouse yet"
    tables = Columns([_partitions(status.summary.partitions), _verdicts(status.summary.account)], padding=(0, 3))
    return Group(_head(status.warehouse, status.summary, now_ms), "", tables, "", _windows(status))


def _head(warehouse: str, summary: LedgerSummary, now_ms: int) -> Table:
    head = Table.grid(padding=(0, 2))
    rate, age, watermark = summary.records_per_second, span_of(now_ms - summary.committed_at), summary.watermark
    lines = {
        "warehouse": warehouse,
        "topic": summary.topic,
        "epoch": str(summary.epoch),
        "last batch": f"{summary.batch_in_epoch}, committed {time_of(summary.committed_at)} ({age} ago)",
        "watermark": _watermark_text(watermark, now_ms),
        "rate": "-" if rate is None else f"{rate:,.0f} records/s over the last batches",
    }
    for name, value in lines.items():
        head.add_row(styled(name, "bold"), value)
    return head


def _watermark_text(watermark: int | None, now_ms: int) -> str:
    if watermark == rules.END_OF_INPUT:
        return "at the end of the input: all windows are closed"
    lag = "nothing fires" if watermark is None else f"{span_of(now_ms - watermark)} behind the clock"
    return f"{time_of(watermark)}, {lag}"


def _partitions(partitions: Sequence[PartitionStatus]) -> Table:
    table = _table("partition", "committed offset", "highest event time")
    for status in partitions:
        table.add_row(str(status.partition), f"{status.to_offset:,}", time_of(status.max_event_time))
    return table


def _verdicts(account: Account) -> Table:
    """Returns the records by verdict: counted, duplicates, and dead letters by reason."""
    table = _table("verdict", "records")
    for verdict in Verdict:
        table.add_row(verdict.value, f"{getattr(account, verdict):,}")
    table.add_section()
    table.add_row("rejected", f"{account.rejected:,}")
    table.add_row("partly late", f"{account.partly_late:,}")
    return table


def _windows(status: Status) -> Table:
    names = status.windows[0].counts if status.windows else ()
    table = _table(f"{status.report} (UTC)", *(name.replace("_", " ") for name in names))
    for window in status.windows:
        counts = (f"{count:,}" for count in window.counts.values())
        start, end = time_of(window.start_ms), time_of(window.end_ms)
        # A day that start and end share is shown once, so that the table fits into 80 columns.
        table.add_row(f"[{start}, {end.removeprefix(start[:_DAY])})", *counts)
    return table


def _table(first: str, *others: str) -> Table:
    table = Table()
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table
