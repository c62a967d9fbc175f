"""Count windows: the first `size` events of a key, by batch and record position, then the next; published when full."""

from typing import Final

from tidemark.command_line.counts import counted
from tidemark.pipeline.event_time.windows.count import Counts
from tidemark.pipeline.verifier import queries
from tidemark.pipeline.verifier.published_results import PublishedReport
from tidemark.pipeline.verifier.verification import Finding
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

# With every `size`-th event of a key its last `size` events are a window.
_FULL_SQL: Final = """
WITH parts AS ({parts}), ending AS (
  SELECT {keys} batch AS published_batch, min(first_time) OVER last_events AS start_ms,
    max(last_time) OVER last_events + 1 AS end_ms, CAST(sum(page_views) OVER last_events AS BIGINT) AS page_views,
    CAST(sum(clicks) OVER last_events AS BIGINT) AS clicks,
    CAST(sum(event_count) OVER last_events AS BIGINT) AS events, CAST(count(*) OVER so_far AS BIGINT) AS position
  FROM parts
  WINDOW last_events AS ({order} ROWS BETWEEN {others} PRECEDING AND CURRENT ROW),
    so_far AS ({order} ROWS UNBOUNDED PRECEDING)
), windows AS (
  SELECT * FROM ending WHERE position % {size} = 0
)
"""


def with_full_windows(result: PublishedReport, kind: Counts, *, published: bool = True) -> str:
    """SQL `WITH parts, windows`: panes and the full windows of them; with `published` up to the published batch."""
    keys = result.report.keys
    return _FULL_SQL.format(
        parts=queries.panes_sql(result, published=published),
        keys=queries.columns(keys),
        order=f"{queries.partition_by(keys)} ORDER BY batch, record_position",
        others=kind.size - 1,
        size=kind.size,
    )


def check(tables: WarehouseSnapshot, result: PublishedReport, kind: Counts, finding: Finding) -> None:
    """Checks that all full windows are published. Windows with equal columns are alike, so their number is compared."""
    sums = result.report.sums
    cell = (*result.cell, *sums, "published_batch")
    select = f"SELECT {', '.join(cell)}, 1 AS windows FROM"
    compared = queries.compared_sql(cell, ["windows"], f"{select} {result.table}", f"{select} windows")
    queries.check_cells(
        tables,
        finding,
        "count window",
        f"{with_full_windows(result, kind)}, cells AS ({compared})",
        "actual_windows < expected_windows",
        lambda row: (
            f"{result.place_of(row)}, full with batch {row['published_batch']} "
            f"({', '.join(f'{row[name]} {name}' for name in sums)}), is shown {counted(row['actual_windows'], 'time')}"
            f", but its panes fill {row['expected_windows']}"
        ),
    )
    waiting = tables.scalar(
        f"{with_full_windows(result, kind, published=False)} SELECT count(*) FROM windows "
        f"WHERE published_batch > {result.batch}"
    )
    finding.note_unpublished(result.name, waiting, "full window")
