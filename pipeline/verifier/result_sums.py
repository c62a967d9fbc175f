"""Invariant 5: every result equals the sum of its panes, as long as these exist."""

from typing import Final, assert_never

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, PANES
from tidemark.pipeline.verifier import (
    count_windows,
    distinct_users,
    distinct_values,
    event_times,
    periodic_sums,
    quantiles,
    queries,
    rankings,
    session_sums,
    text_lists,
    user_sums,
)
from tidemark.pipeline.verifier.published_results import AnyResult, PublishedReport, PublishedTotals, published_results
from tidemark.pipeline.verifier.verification import Finding
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_TO_ONE_WINDOW: Final = ("report", "topic", '"partition"', '"offset"', "window_start_ms", "window_end_ms")
# Dead letters that were removed by age cannot be compared.
_WITHOUT_DEAD_LETTER_SQL: Final = """
SELECT added.* FROM corrections AS added LEFT JOIN dead_letters AS dead
  ON added.topic = dead.topic AND added."partition" = dead."partition" AND added."offset" = dead."offset"
LEFT JOIN (
  SELECT topic, "partition", max(to_offset) AS until FROM ledger WHERE batch <= {removed} GROUP BY topic, "partition"
) AS gone ON added.topic = gone.topic AND added."partition" = gone."partition"
WHERE dead.topic IS NULL AND added."offset" >= coalesce(gone.until, 0) ORDER BY added."partition", added."offset"
"""


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Checks each result by its kind of windows, then the corrections."""
    queries.committed(tables, PANES.name, finding)
    results = published_results(tables)
    for result in results:
        _check_result(tables, result, finding)
    if CORRECTIONS.name in tables.handles:
        _check_corrections(tables, finding)
        for result in results:
            if isinstance(result, PublishedReport):
                _note_unpublished(tables, result, finding)


def _check_result(tables: WarehouseSnapshot, result: AnyResult, finding: Finding) -> None:
    _check_kinds(tables, result, finding)
    if isinstance(result, PublishedTotals):
        user_sums.check(tables, result, finding)
        return
    distinct_values.check(tables, result, finding)
    quantiles.check(tables, result, finding)
    text_lists.check(tables, result, finding)
    match result.report.windows:
        case Counts() | SlidingCounts() as windows:
            count_windows.check(tables, result, windows, finding)
        case Sessions() as windows:
            session_sums.check(tables, result, windows, finding)
        case Periodic():
            periodic_sums.check(tables, result, finding)
            rankings.check(tables, result, finding)
            event_times.check(tables, result, finding)
            event_times.check_fields(tables, result, finding)
            if c.UNIQUE_USERS in result.report.measures:
                distinct_users.check(tables, result, finding)
        case _:
            assert_never(result.report.windows)


def _check_kinds(tables: WarehouseSnapshot, result: AnyResult, finding: Finding) -> None:
    """Checks that panes have visits and clicks among their events, and others only if their kinds are mapped."""
    more = "<" if result.has_other_kinds else "<>"
    finding.report_rows(
        tables.ask(
            "SELECT batch, sum(page_views) AS page_views, sum(clicks) AS clicks, sum(event_count) AS event_count "
            f"FROM ({queries.panes_sql(result, published=False)}) AS parts "
            f"WHERE event_count {more} page_views + clicks GROUP BY batch ORDER BY batch"
        ),
        f"{result.name}: panes of batch {{batch}} have {{page_views:count page view}} and {{clicks:count click}} among "
        "{event_count:count event}",
    )


def _check_corrections(tables: WarehouseSnapshot, finding: Finding) -> None:
    finding.count(tables.scalar("SELECT count(*) FROM corrections"), "correction")
    finding.report_rows(
        tables.ask(queries.repeated_sql("corrections", _TO_ONE_WINDOW)),
        "corrections: offset {offset} of partition {partition} of {topic} was added {found} times to one window "
        "of {report}, but must be added once",
    )
    finding.report_rows(
        tables.ask(_WITHOUT_DEAD_LETTER_SQL.format(removed=tables.removed_until(DEAD_LETTERS.name))),
        "corrections: offset {offset} of partition {partition} of {topic} was added to {report}, but there are "
        "0 dead letters of it",
    )


def _note_unpublished(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    decided = f"SELECT count(*) FROM corrections WHERE report = '{result.name}' AND correction > {result.corrected}"
    finding.note_unpublished(result.name, tables.scalar(decided), "decided correction")
