"""Times that rows tell: of their first and last event, and of that with the last page."""

from functools import partial
from typing import Final

from pipeline import columns as c
from pipeline.event_time.windows.count import Counts
from pipeline.event_time.windows.session import Sessions
from pipeline.verifier import queries
from pipeline.verifier.periodic_sums import begin, is_whole
from pipeline.verifier.published_results import Shown
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot
from pipeline.verifier.wording import Row, moment

_TIME: Final = {
    c.FIRST_SEEN: "CAST(first_seen AS BIGINT) / 1000",
    c.LAST_SEEN: "CAST(last_seen AS BIGINT) / 1000",
    c.LAST_PAGE_URL: "TRY_CAST(substr(last_page, 1, 19) AS BIGINT)",
}
_PAGE: Final = "concat_ws(' ', lpad(CAST(event_time AS VARCHAR), 19, '0'), page_url)"
_DUE: Final = {
    c.FIRST_SEEN: ("min", "first_time", "event_time", _TIME[c.FIRST_SEEN]),
    c.LAST_SEEN: ("max", "last_time", "event_time", _TIME[c.LAST_SEEN]),
    c.LAST_PAGE_URL: ("max", "last_page", _PAGE, "last_page"),
}
"""How it comes of what: a column of panes, what a correction has, and what is shown."""
_WRONG: Final = """
{begin} SELECT {cell}, shown, due FROM (
  SELECT {cell}, max(shown) AS shown, {join}(due) AS due, sum(is_shown) AS rows FROM (
    SELECT {cell}, {shown} AS shown, NULL AS due, 1 AS is_shown
    FROM ({rows}) AS result JOIN windows ON start_ms = a AND end_ms = b WHERE has_panes = 1 AND {is_whole}
    UNION ALL SELECT {cell}, NULL, {part}, 0 FROM placed
    WHERE pane_start >= start_ms AND end_ms <= {watermark} AND {is_whole}
    UNION ALL SELECT {cell}, NULL, {correction}, 0 FROM added
  ) AS sides GROUP BY {cell}
) AS cells WHERE rows > 0 AND due IS NOT NULL AND shown IS DISTINCT FROM due ORDER BY start_ms, end_ms
"""


def check(tables: WarehouseSnapshot, shown: Shown, finding: Finding) -> None:
    """Cell by cell what panes and corrections say, of windows whose ends the clock tells, where no pane is gone."""
    for measure in [name for name in shown.report.measures if name in _DUE]:
        join, part, correction, column = _DUE[measure]
        wrong = _WRONG.format(
            begin=begin(tables, shown),
            cell=", ".join(shown.cell),
            join=join,
            shown=column,
            part=part,
            correction=correction,
            rows=queries.rows(shown),
            is_whole=is_whole(shown),
            watermark=shown.watermark,
        )
        finding.each(tables.ask(wrong), partial(_differs, shown, measure))


def _differs(shown: Shown, measure: str, row: Row) -> str:
    """The sentence on a cell whose panes say something else."""
    told = [moment(side) if isinstance(side, int) else repr(side) for side in (row["shown"], row["due"])]
    return f"{shown.at(row)} shows {measure} {told[0]}, but its panes and corrections have {told[1]}"


def check_fit(tables: WarehouseSnapshot, shown: Shown, finding: Finding) -> None:
    """That they are in the window, in order, and at its ends where events make the window; and the page is its own."""
    told = {name: _TIME[name] for name in shown.report.measures if name in _TIME}
    odd = [f"{time} IS NULL OR {time} < start_ms OR {time} >= end_ms" for time in told.values()]
    if {c.FIRST_SEEN, c.LAST_SEEN} <= told.keys():
        odd.append(f"{told[c.FIRST_SEEN]} > {told[c.LAST_SEEN]}")
    if (after := _after_last(shown)) and c.FIRST_SEEN in told:
        odd.append(f"{told[c.FIRST_SEEN]} <> start_ms")
    odd += [f"{told[name]} + {after} <> end_ms" for name in (c.LAST_SEEN, c.LAST_PAGE_URL) if after and name in told]
    if c.LAST_PAGE_URL in told:
        odd.append("last_page_url IS DISTINCT FROM CASE WHEN length(last_page) > 19 THEN substr(last_page, 21) END")
    if not odd:
        return
    columns = ", ".join(f"{time} AS time_of_{name}" for name, time in told.items())
    rows = (
        f"SELECT *, {columns} FROM ({queries.rows(shown)}) AS result WHERE {' OR '.join(odd)} ORDER BY start_ms, end_ms"
    )
    finding.each(
        tables.ask(rows),
        lambda row: (
            f"{shown.at(row)} shows "
            + " and ".join(f"{name} at {moment(row[f'time_of_{name}'])}" for name in told)
            + ", which does not fit"
        ),
    )


def _after_last(shown: Shown) -> int:
    """How long a window goes on after its last event, in milliseconds; 0 where events do not make it."""
    windows = shown.report.windows
    return windows.gap_ms if isinstance(windows, Sessions) else int(isinstance(windows, Counts))
