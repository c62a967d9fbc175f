"""Windows whose ends the clock tells: what their panes add up to, from the definitions."""

from dataclasses import dataclass
from typing import Final

from pipeline import columns as c
from pipeline.commands.verify import sql
from pipeline.commands.verify.aligned import aligned
from pipeline.commands.verify.shown import Shown
from pipeline.commands.verify.tables import Tables
from pipeline.commands.verify.text import cell, moment, window
from pipeline.commands.verify.verification import Finding, Row
from pipeline.event_time import rules

# Panes tell their windows. Each is looked at for its own, and where sessions are counted for those after it, too.
_CALENDAR: Final = """
places AS (
  SELECT pane, start_ms, end_ms FROM spots
  JOIN (SELECT DISTINCT window_start_ms AS start_ms, window_end_ms AS end_ms FROM parts) AS known
    ON pane >= start_ms - {gap} AND pane < end_ms
)
"""
_PLACED: Final = """
WITH parts AS ({parts}), spots AS (SELECT DISTINCT pane_start AS pane FROM parts), {places}, counted AS (
  SELECT parts.*, start_ms, end_ms FROM parts JOIN places ON pane_start = pane AND closed < end_ms
), placed AS ({begun})
"""
# A session of a user begins with a part that no earlier one of the same window and user is near to.
_BEGUN: Final = """
SELECT counted.*, CASE WHEN first_time > coalesce(
    max(last_time) OVER (
      PARTITION BY end_ms, user_id ORDER BY first_time, {keys} last_time
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) + {gap}, {never}
  ) THEN 1 ELSE 0 END AS begun
FROM counted
"""
_DUE: Final = """
SELECT start_ms, end_ms, {keys} CAST(sum(page_views) AS BIGINT) AS page_views, CAST(sum(clicks) AS BIGINT) AS clicks,
  CAST(sum(CASE WHEN watermark >= end_ms THEN page_views + clicks ELSE 0 END) AS BIGINT) AS late_events,
  CAST(sum(begun) AS BIGINT) AS sessions_begun
FROM placed WHERE pane_start >= start_ms AND end_ms <= {watermark} AND end_ms > {removed}
GROUP BY {keys} start_ms, end_ms
"""


@dataclass(frozen=True, slots=True)
class Periodic:
    """The queries over one report."""

    tables: Tables
    shown: Shown

    @property
    def cell(self) -> tuple[str, ...]:
        """The columns that tell rows apart."""
        return ("start_ms", "end_ms", *self.shown.report.keys)

    @property
    def numbers(self) -> list[str]:
        """The measures that are sums."""
        return [*self.shown.report.sums, c.LATE_EVENTS]

    def placed(self, *, published: bool = True) -> str:
        """`WITH … placed AS (…)`: each row of panes once for each of its windows in which it counts."""
        report, gap = self.shown.report, self.shown.report.session_gap_ms
        begun = _BEGUN.format(keys=sql.columns(report.keys), gap=gap, never=rules.NO_WATERMARK)
        return _PLACED.format(
            parts=sql.parts(self.shown, published=published),
            places=self._places(),
            begun=begun if gap else "SELECT counted.*, 0 AS begun FROM counted",
        )

    def _places(self) -> str:
        windows, gap = aligned(self.shown.report.windows), self.shown.report.session_gap_ms
        return windows.places(gap) if windows else _CALENDAR.format(gap=gap)

    def due(self) -> str:
        """The rows that panes add up to, of windows that have fired and were not removed by age."""
        shown = self.shown
        return _DUE.format(keys=sql.columns(shown.report.keys), watermark=shown.watermark, removed=shown.removed)

    def is_whole(self) -> str:
        """Of which windows no pane can be gone: those that may still change."""
        return f"end_ms > {self.shown.swept}"


def check(tables: Tables, shown: Shown, finding: Finding) -> None:
    """Cell by cell where panes are left; the others must have closed."""
    it = Periodic(tables, shown)
    _compare(it, finding)
    _look_for_windows_without_panes(it, finding)
    _tell_what_waits(it, finding)


def _compare(it: Periodic, finding: Finding) -> None:
    numbers = [name for name in it.numbers if name != c.SESSIONS_BEGUN]
    broken = (
        f"(has_panes = 1 AND {it.is_whole()} AND (is_shown <> 1 OR {sql.differs(it.numbers)})) "
        f"OR is_shown = 0 OR {sql.differs(numbers, '<')}"
    )
    cells = f"{it.placed()}, due AS ({it.due()}), {windows_of(it)}, cells AS ({_sides(it)})"
    rows = it.tables.ask(sql.examples(cells, broken, "start_ms, end_ms"))
    keys = it.shown.report.keys
    finding.among("cells of windows with panes", rows, lambda row: difference(it.shown.name, row, keys, it.numbers))


def windows_of(it: Periodic) -> str:
    """CTE `windows`: those to compare, and whether they have panes or were corrected only."""
    added = sql.corrections(it.tables, it.shown)
    corrected = f"UNION ALL SELECT start_ms, end_ms, 0 FROM ({added}) AS added" if added else ""
    return (
        "windows AS (SELECT start_ms AS a, end_ms AS b, max(has) AS has_panes FROM "
        f"(SELECT start_ms, end_ms, 1 AS has FROM due {corrected}) AS known GROUP BY start_ms, end_ms)"
    )


def _sides(it: Periodic) -> str:
    numbers = ", ".join(it.numbers)
    keys = sql.columns(it.shown.report.keys)
    due = f"SELECT start_ms, end_ms, {keys}{numbers} FROM due"
    if added := sql.corrections(it.tables, it.shown):
        told = ", ".join("0 AS sessions_begun" if name == c.SESSIONS_BEGUN else name for name in it.numbers)
        due += f" UNION ALL SELECT start_ms, end_ms, {keys}{told} FROM ({added}) AS added"
    here = "JOIN windows ON start_ms = a AND end_ms = b"
    shown = f"SELECT has_panes, start_ms, end_ms, {keys}{numbers} FROM ({sql.rows(it.shown)}) AS result {here}"
    due = f"SELECT has_panes, it.* FROM ({due}) AS it {here}"
    return sql.side_by_side(("has_panes", *it.cell), it.numbers, shown, due)


def difference(name: str, row: Row, keys: tuple[str, ...], numbers: list[str]) -> str:
    """The sentence on a cell whose two sides differ."""
    where = f"{name}: {cell(row, keys)}"
    told = ", ".join(f"{row[f'due_{one}']} {one}" for one in numbers)
    if not row["is_shown"]:
        return f"{where} is not shown, but its panes and corrections have {told}"
    if not row["is_due"]:
        shown = ", ".join(f"{row[f'shown_{one}']} {one}" for one in numbers)
        return f"{where} shows {shown}, but its panes and corrections have 0 of it"
    different = [one for one in numbers if row[f"shown_{one}"] != row[f"due_{one}"]]
    return f"{where} shows " + " and ".join(
        f"{row[f'shown_{one}']} {one}, but its panes and corrections have {row[f'due_{one}']}" for one in different
    )


def _look_for_windows_without_panes(it: Periodic, finding: Finding) -> None:
    """Windows that have not closed may still change, so their panes must be there."""
    gone = (
        f"{it.placed()} SELECT start_ms, end_ms, count(*) AS rows FROM ({sql.rows(it.shown)}) AS result "
        "WHERE end_ms NOT IN (SELECT end_ms FROM placed WHERE pane_start >= start_ms) "
        f"AND end_ms <= {it.shown.highest} {{which}} GROUP BY start_ms, end_ms ORDER BY start_ms"
    )
    swept = it.tables.ask(gone.format(which=""))
    finding.look(len(swept), "closed windows without panes")
    if not it.shown.is_kept:
        finding.tell(f"{it.shown.name} is no longer configured: what it had open is gone")
        return
    finding.each(
        it.tables.ask(gone.format(which=f"AND end_ms > {it.shown.closed}")),
        lambda row: (
            f"{it.shown.name}: {window(row)} shows {row['rows']} rows and has 0 panes, though only windows that end at "
            f"{moment(it.shown.closed)} or before have closed"
        ),
    )


def _tell_what_waits(it: Periodic, finding: Finding) -> None:
    now = f"(SELECT max(watermark) FROM ledger WHERE batch = {it.tables.newest})"
    waiting = it.tables.number(
        f"{it.placed(published=False)} SELECT count(DISTINCT end_ms) FROM placed WHERE pane_start >= start_ms "
        f"AND end_ms <= {now} AND (end_ms > {it.shown.watermark} OR batch > {it.shown.published})"
    )
    if waiting:
        finding.tell(f"{it.shown.name}: {waiting:,} windows that have fired or changed are not published yet")
