"""Count windows: by batch and record position the first `size` events of a key, then the next; full ones are shown."""

from typing import Final

from pipeline.event_time.windows.count import Counts
from pipeline.verifier import queries
from pipeline.verifier.published_results import Shown
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

# With every `size`-th event of a key its last `size` events are a window.
_FULL_SQL: Final = """
WITH parts AS ({parts}), ending AS (
  SELECT {keys} batch AS published_batch, min(first_time) OVER last_events AS start_ms,
    max(last_time) OVER last_events + 1 AS end_ms, CAST(sum(page_views) OVER last_events AS BIGINT) AS page_views,
    CAST(sum(clicks) OVER last_events AS BIGINT) AS clicks, CAST(count(*) OVER events AS BIGINT) AS events
  FROM parts
  WINDOW last_events AS ({order} ROWS BETWEEN {others} PRECEDING AND CURRENT ROW),
    events AS ({order} ROWS UNBOUNDED PRECEDING)
), windows AS (
  SELECT * FROM ending WHERE events % {size} = 0
)
"""


def full_windows_sql(shown: Shown, kind: Counts, *, published: bool = True) -> str:
    """`WITH … windows AS (…)`: the full windows that the `parts` make, as far as the report is published or all."""
    keys = shown.report.keys
    return _FULL_SQL.format(
        parts=queries.parts(shown, published=published),
        keys=queries.columns(keys),
        order=f"{queries.partition_by(keys)} ORDER BY batch, record_position",
        others=kind.size - 1,
        size=kind.size,
    )


def check(tables: WarehouseSnapshot, shown: Shown, kind: Counts, finding: Finding) -> None:
    """Windows that panes tell to be full are shown. Those of the same times are told apart by nothing but number."""
    sums = shown.report.sums
    same = (*shown.cell, *sums, "published_batch")
    one = f"SELECT {', '.join(same)}, 1 AS windows FROM"
    due = f"{one} windows"
    compared = queries.side_by_side(same, ["windows"], f"{one} ({queries.rows(shown)}) AS result", due)
    cells = f"{full_windows_sql(shown, kind)}, cells AS ({compared})"
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
        f"{full_windows_sql(shown, kind, published=False)} SELECT count(*) FROM windows "
        f"WHERE published_batch > {shown.published}"
    )
    if waiting:
        finding.tell(f"{shown.name}: {waiting:,} windows that are full are not published yet")
