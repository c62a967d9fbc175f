"""Formats the status of a warehouse for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from decimal import Decimal

from tidemark.command_line.counts import span_of
from tidemark.command_line.terminal import Columns, FirstFitting, Group, RenderableType, Table, styled
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.policy import Verdict
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.measures import label
from tidemark.pipeline.reading.ledger_summary import Account, LedgerSummary, PartitionStatus
from tidemark.pipeline.reading.window_names import moment_text, window_name, zone_of_report

_PARTITIONS = 100
"""Number of partitions on a screen."""


@dataclass(frozen=True, slots=True)
class WindowStatus:
    """The counts of a report in the window `[start_ms, end_ms)`, by their names."""

    start_ms: int
    end_ms: int
    counts: Mapping[str, int | Decimal]


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
    report, zone = _report_and_zone(status, status.summary)
    tables = _tables(status.summary, zone)
    head = _head(status.warehouse, status.summary, now_ms, zone)
    head.add_row(styled("warehouse id", "bold"), status.summary.table_id)
    return Group(head, "", tables, "", _windows(status, report, zone))


def render_screen(status: Status, now_ms: int, *above: RenderableType) -> RenderableType:
    """Returns the lines `above` and the status for a screen: if it is small, the windows displace other tables."""
    if status.summary is None:
        return Group(*above, "", render(status, now_ms))
    report, zone = _report_and_zone(status, status.summary)
    first = (*above, "", _head(status.warehouse, status.summary, now_ms, zone), "", _windows(status, report, zone))
    forms = [Group(*first, "", *tables) for tables in _smaller_tables(status.summary, zone)]
    return FirstFitting([*forms, Group(*first)])


def _report_and_zone(status: Status, summary: LedgerSummary) -> tuple[Report, tzinfo]:
    report = next(report for report in summary.policy.reports if report.name == status.report)
    return report, zone_of_report(report, UTC)


def _smaller_tables(summary: LedgerSummary, zone: tzinfo) -> Iterator[list[RenderableType]]:
    """Yields the tables of partitions and verdicts in smaller and smaller forms."""
    yield [_tables(summary, zone)]
    account = summary.account
    verdicts = ", ".join(f"{verdict.value.replace('_', ' ')} {getattr(account, verdict):,}" for verdict in Verdict)
    for count in range(min(len(summary.partitions), _PARTITIONS), 0, -1):
        yield [f"records: {verdicts}", _partitions(summary.partitions, zone, count)]
    yield [f"records: {verdicts}"]


def _tables(summary: LedgerSummary, zone: tzinfo) -> RenderableType:
    partitions = _partitions(summary.partitions, zone, len(summary.partitions))
    return Columns([partitions, _verdicts(summary.account, by_arrival=summary.policy.by_arrival)], padding=(0, 3))


def _head(warehouse: str, summary: LedgerSummary, now_ms: int, zone: tzinfo) -> Table:
    head = Table.grid(padding=(0, 2))
    rate, age, watermark = summary.records_per_second, span_of(now_ms - summary.committed_at), summary.watermark
    lines = {
        "warehouse": warehouse,
        "topic": summary.topic,
        "epoch": str(summary.epoch),
        "last batch": f"{summary.batch_in_epoch}, committed {moment_text(summary.committed_at, zone)} ({age} ago)",
        "watermark": _watermark_text(watermark, now_ms, zone),
        "rate": "-" if rate is None else f"{rate:,.0f} records/s over the last batches",
    }
    for name, value in lines.items():
        head.add_row(styled(name, "bold"), value)
    return head


def _watermark_text(watermark: int | None, now_ms: int, zone: tzinfo) -> str:
    if watermark == rules.END_OF_INPUT:
        return "at the end of the input: all windows are closed"
    if watermark is None:
        return "no watermark yet, so nothing fires"
    distance = f"{span_of(abs(now_ms - watermark))} {'ahead of' if watermark > now_ms else 'behind'} the clock"
    return f"{moment_text(watermark, zone)}, {distance}"


def _partitions(partitions: Sequence[PartitionStatus], zone: tzinfo, count: int) -> Table:
    """Returns a table of the first `count` partitions."""
    table = _table("partition", "committed offset", "highest event time")
    for status in partitions[:count]:
        table.add_row(str(status.partition), f"{status.to_offset:,}", moment_text(status.max_event_time, zone))
    if count < len(partitions):
        table.add_row(f"{len(partitions) - count:,} more", "", "")
    return table


def _verdicts(account: Account, *, by_arrival: bool) -> Table:
    """Returns the records by verdict: counted, duplicates, and dead letters by reason, unknown lateness."""
    table = _table("verdict", "records")
    for verdict in Verdict:
        table.add_row(verdict.value, f"{getattr(account, verdict):,}")
    table.add_section()
    table.add_row("rejected", f"{account.rejected:,}")
    table.add_row("partly late", f"{account.partly_late:,}")
    if account.unjudged:
        table.add_row("lateness unknown", f"{account.unjudged:,}")
    if by_arrival:
        table.add_row("unsettled", f"{account.unsettled:,}")
    return table


def _windows(status: Status, report: Report, zone: tzinfo) -> Table:
    names = status.windows[0].counts if status.windows else ()
    table = _table(f"{status.report} ({zone})", *(label(name, report.estimates) for name in names))
    for window in status.windows:
        counts = (f"{count:,}" for count in window.counts.values())
        table.add_row(window_name(window.start_ms, window.end_ms, report.windows, zone), *counts)
    return table


def _table(first: str, *others: str) -> Table:
    table = Table()
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right")
    return table
