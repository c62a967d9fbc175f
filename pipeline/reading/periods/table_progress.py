"""How far each report of a warehouse is published, read from its tables. All times are milliseconds since 1970.

A commit is ahead of the tables until its publication. So the progress of a report is that of the newest batch if
nothing that this made due is missing, and otherwise that of the last batch that the table records as published.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.instants import ms_of
from tidemark.pipeline.reading.ledger_summary import LedgerSummary, read_summary
from tidemark.pipeline.reading.periods.period_sources import ReportProgress, Sources, sources_of
from tidemark.pipeline.reading.periods.tiling import tumbles
from tidemark.pipeline.reading.table_reader import CurrentTables
from tidemark.pipeline.tables.file_statistics import lowest
from tidemark.pipeline.tables.opening import read_opening
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import LEDGER, PANES, USER_TOTALS
from tidemark.pipeline.tables.transactions import CLOSED_APP, PUBLISHED_APP, REMOVED_APP, version_of

_START: Final = 0
"""A report that counts since the first opening knows every time: before the first event there are no events."""


@dataclass(frozen=True, slots=True)
class Beginnings:
    """Since when each report counts, by its name, from the openings of the ledger."""

    of: tuple[str, int]
    """Delta's id of the ledger, and the epoch."""
    since: dict[str, int]


def sources_in(tables: CurrentTables, summary: LedgerSummary, known: Beginnings | None) -> tuple[Sources, Beginnings]:
    """Returns the sources of a warehouse; `known` are the beginnings that an earlier call returned."""
    summary = _at_least_published(tables, summary)
    beginnings = _beginnings(tables, summary, known)
    reports = [report for report in summary.policy.reports if tables.find(report.name) is not None]
    progress, _ = _progress(tables, summary, reports, beginnings.since)
    beginning, knows_first = _beginning(tables, reports, progress)
    sources = sources_of(
        reports=summary.policy.reports,
        progress=progress,
        totals=_totals(tables, summary, beginnings),
        beginning=beginning,
        watermark=summary.watermark,
        committed_at=summary.committed_at,
        knows_first=knows_first,
    )
    return sources, beginnings


@dataclass(frozen=True, slots=True)
class TableProgress:
    """How far every result of a warehouse is published, as of the newest batch in `summary`."""

    summary: LedgerSummary
    """Of a ledger that is at least as new as the results."""
    reports: dict[str, ReportProgress]
    """By name; reports without a table are absent."""
    pending: frozenset[str]
    """The reports that may have windows which are due, or due again, and not published."""
    totals: ReportProgress | None
    """None unless the totals have all users since the first opening."""


def progress_in(tables: CurrentTables, summary: LedgerSummary) -> TableProgress:
    """Returns the progress of every result in `tables`."""
    summary = _at_least_published(tables, summary)
    beginnings = _beginnings(tables, summary, None)
    existing = [report for report in summary.policy.reports if tables.find(report.name) is not None]
    reports, pending = _progress(tables, summary, existing, beginnings.since)
    return TableProgress(summary, reports, pending, _totals(tables, summary, beginnings))


def _at_least_published(tables: CurrentTables, summary: LedgerSummary) -> LedgerSummary:
    """Returns the summary of a ledger that has every batch that a result table records as published.

    The ledger is read before the results, so a publication may land in between.
    """
    published = max(version_of(tables.find(report.name), PUBLISHED_APP) for report in summary.policy.reports)
    ledger, panes = tables.find(LEDGER.name), tables.find(PANES.name)
    if published <= summary.batch or ledger is None or panes is None:
        return summary
    ledger.update_incremental()
    panes.update_incremental()
    return read_summary(ledger, summary) or summary


def _beginnings(tables: CurrentTables, summary: LedgerSummary, known: Beginnings | None) -> Beginnings:
    of = summary.table_id, summary.epoch
    if known is not None and known.of == of:
        return known
    ledger = tables.find(LEDGER.name)
    assert ledger is not None  # noqa: S101 - its summary exists
    return Beginnings(of, since_by_name(ledger, summary.epoch))


def since_by_name(ledger: DeltaTable, epoch: int) -> dict[str, int]:
    """Returns by name since when (ms) the reports and totals of `epoch` count every event; 0 if since the beginning."""
    batches = ", ".join(str(number * EPOCH) for number in range(1, epoch + 1))
    rows = rows_of(
        f"SELECT {c.BATCH}, max(opening) AS opening, max({c.MAX_EVENT_TIME}) AS newest FROM ledger "  # noqa: S608 - our own numbers
        f"WHERE {c.BATCH} IN ({batches}) GROUP BY {c.BATCH} ORDER BY {c.BATCH}",
        ledger=ledger,
    )
    return _since([row for row in rows if row["opening"] is not None])


def _since(openings: Sequence[Row]) -> dict[str, int]:
    """Returns by name since when the reports and totals of the last opening count.

    One that an opening added counts all events after the newest that had been read; earlier ones in part, or not.
    """
    since = dict[str, int]()
    for number, row in enumerate(openings):
        policy = read_opening(row["opening"]).policy
        added = _START if number == 0 or row["newest"] is None else row["newest"] + 1
        since = {consumer.name: since.get(consumer.name, added) for consumer in policy.consumers}
    return since


def _progress(
    tables: CurrentTables, summary: LedgerSummary, reports: Sequence[Report], since: Mapping[str, int]
) -> tuple[dict[str, ReportProgress], frozenset[str]]:
    """Returns the progress of each report by name, and those that may have windows which are due and not published.

    `since` has since when each counts.
    """
    watermark = rules.as_number(summary.watermark)
    published = {report.name: version_of(tables.find(report.name), PUBLISHED_APP) for report in reports}
    behind = [report for report in reports if published[report.name] < summary.batch]
    befores = _watermarks_at(tables, {published[report.name] for report in behind})
    progress, unpublished = dict[str, ReportProgress](), dict[str, _Unpublished]()
    for report in reports:
        table = tables.find(report.name)
        removed, closed = version_of(table, REMOVED_APP), version_of(table, CLOSED_APP)
        progress[report.name] = ReportProgress(
            summary.batch,
            watermark,
            min(watermark, max(lateness.closed_until(report, summary.watermark), closed)),
            max(since[report.name], removed),
        )
        if published[report.name] < summary.batch:
            batch = published[report.name]
            unpublished[report.name] = _Unpublished(report, batch, befores.get(batch, rules.NO_WATERMARK), closed)
    panes = _panes_of(tables, unpublished.values(), summary.batch, watermark)
    pending = set[str]()
    for name, late in unpublished.items():
        progress[name], is_pending = _published(progress[name], late, panes[name])
        pending |= {name} if is_pending else set()
    return progress, frozenset(pending)


class _Unpublished(NamedTuple):
    """A report that lacks the newest batches: its last published batch, and the watermark of this."""

    report: Report
    batch: int
    before: int
    closed: int
    """Windows that end at or before it are closed, as its table records."""


def _due(late: _Unpublished, windows: Periodic, panes: Sequence[tuple[int, bool]], until: int) -> list[tuple[int, int]]:
    """Returns the starts and ends of windows up to `until` that are due, or due again, and not published."""
    due = {
        window
        for pane, is_new in panes
        for window in windows.of(pane)
        if window.end <= until and (is_new or window.end > late.before)
    }
    return [(window.start, window.end) for window in due]


def _published(
    now: ReportProgress, late: _Unpublished, panes: Sequence[tuple[int, bool]]
) -> tuple[ReportProgress, bool]:
    """Returns the progress without what is due and not published, and whether there may be such windows.

    `panes` may be in them, and `now` is the progress of the ledger.
    """
    windows = late.report.windows
    if isinstance(windows, Periodic):
        due = _due(late, windows, panes, now.until)
        return _without_pending(now, due, late.before), bool(due)
    if late.before == now.until and not panes:
        return now, False
    before = None if late.before == rules.NO_WATERMARK else late.before
    closed = max(lateness.closed_until(late.report, before), late.closed)
    until = min(late.before, now.until)
    return replace(now, batch=late.batch, until=until, closed=min(closed, until)), True


def _without_pending(now: ReportProgress, pending: Sequence[tuple[int, int]], before: int) -> ReportProgress:
    """Returns the progress up to the first of the windows that are due and not published, as starts and ends.

    A window that fires again does not end the coverage, but is not final yet.
    """
    first_fired = min((start for start, end in pending if end > before), default=now.until)
    first = min((start for start, _ in pending), default=now.closed)
    return replace(now, until=min(now.until, first_fired), closed=min(now.closed, first))


def _panes_of(
    tables: CurrentTables, reports: Collection[_Unpublished], until_batch: int, watermark: int
) -> dict[str, list[tuple[int, bool]]]:
    """Returns by report the panes that may be in windows that are due and not published: start, and if it is new.

    A new one has events of later batches. A report whose windows do not follow from the clock has new ones only.
    """
    found: dict[str, list[tuple[int, bool]]] = {late.report.name: [] for late in reports}
    panes = tables.find(PANES.name)
    if panes is None or not reports:
        return found
    rows = rows_of(
        f"SELECT DISTINCT {c.REPORT}, {c.PANE_START}, {_is_new_sql(reports)} AS is_new FROM panes "  # noqa: S608 - ours
        f"WHERE {c.BATCH} <= {until_batch} AND ({' OR '.join(_pending_sql(late, watermark) for late in reports)})",
        panes=panes,
    )
    for row in rows:
        found[row[c.REPORT]].append((row[c.PANE_START], row["is_new"]))
    return found


def _is_new_sql(reports: Collection[_Unpublished]) -> str:
    batches = " ".join(f"WHEN '{late.report.name}' THEN {late.batch}" for late in reports)
    return f"{c.BATCH} > CASE {c.REPORT} {batches} END"


def _pending_sql(late: _Unpublished, watermark: int) -> str:
    windows, of_report = late.report.windows, f"{c.REPORT} = '{late.report.name}'"
    if not isinstance(windows, Periodic):
        return f"({of_report} AND {c.BATCH} > {late.batch})"
    first = windows.earliest_after(late.before) if late.before > rules.NO_WATERMARK else late.before
    is_new = f"({c.BATCH} > {late.batch} OR {c.PANE_START} >= {first})"
    return f"({of_report} AND {c.PANE_START} < {watermark} AND {is_new})"


def _has_panes_after(tables: CurrentTables, name: str, batch: int, until: int) -> bool:
    panes = tables.find(PANES.name)
    if panes is None:
        return False
    condition = f"{c.REPORT} = '{name}' AND {c.BATCH} > {batch} AND {c.BATCH} <= {until}"
    return bool(rows_of(f"SELECT {c.BATCH} FROM panes WHERE {condition} LIMIT 1", panes=panes))  # noqa: S608 - ours


def _watermarks_at(tables: CurrentTables, batches: Collection[int]) -> dict[int, int]:
    """Returns the watermarks of committed batches as numbers, without those that the ledger does not have."""
    ledger = tables.find(LEDGER.name)
    if ledger is None or not any(batches):
        return {}
    listed = ", ".join(map(str, sorted(batches)))
    sql = f"SELECT {c.BATCH}, max({c.WATERMARK}) AS watermark FROM ledger WHERE {c.BATCH} IN ({listed}) GROUP BY 1"  # noqa: S608 - our own numbers
    return {row[c.BATCH]: rules.as_number(row["watermark"]) for row in rows_of(sql, ledger=ledger)}


def _totals(tables: CurrentTables, summary: LedgerSummary, beginnings: Beginnings) -> ReportProgress | None:
    """Returns the progress of `user_totals`; None unless it has all users since the first opening."""
    table = tables.find(USER_TOTALS.name)
    if table is None or summary.policy.totals is None or beginnings.since[UserTotals.name] != _START:
        return None
    published = version_of(table, PUBLISHED_APP)
    is_pending = _has_panes_after(tables, UserTotals.name, published, summary.batch)
    watermark = rules.as_number(summary.watermark)
    until = _watermarks_at(tables, {published}).get(published, rules.NO_WATERMARK) if is_pending else watermark
    return ReportProgress(published if is_pending else summary.batch, until, rules.NO_WATERMARK)


def _beginning(
    tables: CurrentTables, reports: Sequence[Report], progress: dict[str, ReportProgress]
) -> tuple[int | None, bool]:
    """Returns the start of the first window with an event, as the shortest windows have it; None without windows.

    The second value is False if each report lacks earlier rows, which were removed or not counted.
    """
    firsts = dict[str, int]()
    for report in reports:
        table = tables.find(report.name)
        if table is not None and not report.where and (first := lowest(table, c.WINDOW_START)) is not None:
            firsts[report.name] = ms_of(first)
    timed = [report.name for report in reports if tumbles(report) and report.name in firsts]
    whole = [firsts[name] for name in timed if progress[name].since == _START]
    return max(whole, default=min(firsts.values(), default=None)), bool(whole) or not firsts
