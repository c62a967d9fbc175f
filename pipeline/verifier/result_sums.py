"""Law 5: every result is what its panes add up to, as long as they are there."""

from typing import Final

from pipeline import columns as c
from pipeline.event_time.windows.count import Counts
from pipeline.event_time.windows.session import Sessions
from pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, PANES
from pipeline.verifier import (
    count_windows,
    distinct_users,
    event_times,
    periodic_sums,
    queries,
    session_sums,
    user_sums,
)
from pipeline.verifier.published_results import Shown, ShownTotals, shown_results
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_TO_ONE_WINDOW: Final = ("report", "topic", '"partition"', '"offset"', "window_start_ms", "window_end_ms")
# Of what was removed by age nothing is left that it could be held against.
_OF_NOTHING: Final = """
SELECT added.* FROM corrections AS added LEFT JOIN dead_letters AS dead
  ON added.topic = dead.topic AND added."partition" = dead."partition" AND added."offset" = dead."offset"
LEFT JOIN (
  SELECT topic, "partition", max(to_offset) AS until FROM ledger WHERE batch <= {removed} GROUP BY topic, "partition"
) AS gone ON added.topic = gone.topic AND added."partition" = gone."partition"
WHERE dead.topic IS NULL AND added."offset" >= coalesce(gone.until, 0) ORDER BY added."partition", added."offset"
"""


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Result by result, each kind of windows in its own way; then what was corrected."""
    queries.committed(tables, PANES.name, finding)
    shown = shown_results(tables)
    for one in shown:
        _check_one(tables, one, finding)
    if CORRECTIONS.name in tables.handles:
        _check_corrections(tables, finding)
        for report in shown:
            if isinstance(report, Shown):
                _tell_what_waits(tables, report, finding)


def _check_one(tables: WarehouseSnapshot, shown: Shown | ShownTotals, finding: Finding) -> None:
    if isinstance(shown, ShownTotals):
        user_sums.check(tables, shown, finding)
    elif isinstance(shown.report.windows, Counts):
        count_windows.check(tables, shown, shown.report.windows, finding)
    elif isinstance(shown.report.windows, Sessions):
        session_sums.check(tables, shown, shown.report.windows, finding)
    else:
        periodic_sums.check(tables, shown, finding)
        event_times.check(tables, shown, finding)
        if c.UNIQUE_USERS in shown.report.measures:
            distinct_users.check(tables, shown, finding)


def _check_corrections(tables: WarehouseSnapshot, finding: Finding) -> None:
    finding.look(tables.number("SELECT count(*) FROM corrections"), "corrections")
    finding.each(
        tables.ask(queries.twice("corrections", _TO_ONE_WINDOW)),
        "corrections: offset {offset} of partition {partition} of {topic} was added {found} times to one window "
        "of {report}, but must be once",
    )
    finding.each(
        tables.ask(_OF_NOTHING.format(removed=tables.removed(DEAD_LETTERS.name))),
        "corrections: offset {offset} of partition {partition} of {topic} was added to {report}, but there are "
        "0 dead letters of it",
    )


def _tell_what_waits(tables: WarehouseSnapshot, shown: Shown, finding: Finding) -> None:
    late = tables.number(
        f"SELECT count(*) FROM corrections WHERE report = '{shown.name}' AND correction > {shown.corrected}"
    )
    if late:
        finding.tell(f"{shown.name}: {late:,} corrections are decided and not added yet")
