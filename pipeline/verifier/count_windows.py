"""Count windows: by batch and record position the first `size` events of a key, then the next; full ones are shown."""

from typing import Final

from pipeline.event_time.windows.count import Counts
from pipeline.verifier import queries
from pipeline.verifier.published_results import Shown
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_WINDOWS: Final = """
WITH numbered AS (
  SELECT parts.*, CAST(row_number() OVER ({by} ORDER BY batch, record_position) AS BIGINT) AS number
  FROM ({parts}) AS parts
), windows AS (
  SELECT {keys} min(first_time) AS start_ms, max(last_time) + 1 AS end_ms,
    CAST(sum(page_views) AS BIGINT) AS page_views,
    CAST(sum(clicks) AS BIGINT) AS clicks, max(batch) AS published_batch, count(*) AS events
  FROM numbered GROUP BY {keys} (number + {size} - 1) / {size}
)
"""


def windows(shown: Shown, kind: Counts, *, published: bool = True) -> str:
    """`WITH … windows AS (…)`: those that the panes tell of, full or not, with their `events`."""
    keys = queries.columns(shown.report.keys)
    return _WINDOWS.format(
        by=f"PARTITION BY {keys[:-2]}" if keys else "",
        parts=queries.parts(shown, published=published),
        keys=keys,
        size=kind.size,
    )


def check(tables: WarehouseSnapshot, shown: Shown, kind: Counts, finding: Finding) -> None:
    """Windows that panes tell to be full are shown. Those of the same times are told apart by nothing but number."""
    sums = shown.report.sums
    same = (*shown.cell, *sums, "published_batch")
    one = f"SELECT {', '.join(same)}, 1 AS windows FROM"
    due = f"{one} windows WHERE events = {kind.size}"
    compared = queries.side_by_side(same, ["windows"], f"{one} ({queries.rows(shown)}) AS result", due)
    cells = f"{windows(shown, kind)}, cells AS ({compared})"
    finding.among(
        "count windows",
        tables.ask(queries.examples(cells, "shown_windows < due_windows", "start_ms, end_ms")),
        lambda row: (
            f"{shown.at(row)}, full with batch {row['published_batch']} "
            f"({', '.join(f'{row[name]} {name}' for name in sums)}), is shown {row['shown_windows']} "
            f"times, but its panes fill {row['due_windows']}"
        ),
    )
    waiting = tables.number(
        f"{windows(shown, kind, published=False)} SELECT count(*) FROM windows "
        f"WHERE events = {kind.size} AND published_batch > {shown.published}"
    )
    if waiting:
        finding.tell(f"{shown.name}: {waiting:,} windows that are full are not published yet")
