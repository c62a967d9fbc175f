"""Law 5: every result is what its panes add up to, as long as they are there."""

from typing import Final

from pipeline import columns as c
from pipeline.commands.verify import counts, periodic, sessions, times, totals, users
from pipeline.commands.verify.shown import Shown, shown_reports, shown_totals
from pipeline.commands.verify.tables import Tables
from pipeline.commands.verify.verification import Finding
from pipeline.event_time.windows.count import Counts
from pipeline.event_time.windows.session import Sessions

_TWICE: Final = """
SELECT report, topic, "partition", "offset", count(*) AS found FROM corrections
GROUP BY report, topic, "partition", "offset", window_start_ms, window_end_ms HAVING count(*) > 1
ORDER BY report, "partition", "offset"
"""
# Of what was removed by age nothing is left that it could be held against.
_OF_NOTHING: Final = """
SELECT added.* FROM corrections AS added LEFT JOIN dead_letters AS dead
  ON added.topic = dead.topic AND added."partition" = dead."partition" AND added."offset" = dead."offset"
LEFT JOIN (
  SELECT topic, "partition", max(to_offset) AS until FROM ledger WHERE batch <= {removed} GROUP BY topic, "partition"
) AS gone ON added.topic = gone.topic AND added."partition" = gone."partition"
WHERE dead.topic IS NULL AND added."offset" >= coalesce(gone.until, 0) ORDER BY added."partition", added."offset"
"""


def check(tables: Tables, finding: Finding) -> None:
    """Report by report, each kind of windows in its own way; then what was corrected."""
    void = tables.number("SELECT count(*) FROM panes WHERE batch NOT IN (SELECT batch FROM ledger)")
    if void:
        finding.tell(f"panes: {void:,} rows of batches that the ledger does not have are void")
    for shown in shown_reports(tables):
        _check_one(tables, shown, finding)
    for totals_shown in shown_totals(tables):
        totals.check(tables, totals_shown, finding)
    if "corrections" in tables.handles:
        _check_corrections(tables, finding)


def _check_one(tables: Tables, shown: Shown, finding: Finding) -> None:
    windows = shown.report.windows
    if isinstance(windows, Counts):
        counts.check(tables, shown, windows, finding)
    elif isinstance(windows, Sessions):
        sessions.check(tables, shown, windows, finding)
    else:
        periodic.check(tables, shown, finding)
        times.check(tables, shown, finding)
        if c.UNIQUE_USERS in shown.report.measures:
            users.check(tables, shown, finding)


def _check_corrections(tables: Tables, finding: Finding) -> None:
    finding.look(tables.number("SELECT count(*) FROM corrections"), "corrections")
    finding.each(
        tables.ask(_TWICE),
        "corrections: offset {offset} of partition {partition} of {topic} was added {found} times to one window "
        "of {report}, but must be once",
    )
    finding.each(
        tables.ask(_OF_NOTHING.format(removed=tables.removed("dead_letters"))),
        "corrections: offset {offset} of partition {partition} of {topic} was added to {report}, but there are "
        "0 dead letters of it",
    )
    for shown in shown_reports(tables):
        late = tables.number(
            f"SELECT count(*) FROM corrections WHERE report = '{shown.name}' AND correction > {shown.corrected}"
        )
        if late:
            finding.tell(f"{shown.name}: {late:,} corrections are decided and not added yet")
