"""Count windows: by batch and record position every `size` events of a key, or its last `size` after every `slide`."""

from typing import Final, assert_never

from tidemark.command_line.counts import counted
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.verifier import queries
from tidemark.pipeline.verifier.measured_fields import exact_parts, stored_parts
from tidemark.pipeline.verifier.published_results import PublishedReport
from tidemark.pipeline.verifier.verification import Finding
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

# With every `size`-th event of a key its last `size` events are a window.
_FULL_SQL: Final = """
WITH parts AS ({parts}), ending AS (
  SELECT {keys} batch AS published_batch, min(first_time) OVER last_events AS start_ms,
    max(last_time) OVER last_events + 1 AS end_ms, CAST(sum(page_views) OVER last_events AS BIGINT) AS page_views,
    CAST(sum(clicks) OVER last_events AS BIGINT) AS clicks,
    CAST(sum(event_count) OVER last_events AS BIGINT) AS events, {joined}
    CAST(count(*) OVER so_far AS BIGINT) AS position
  FROM parts
  WINDOW last_events AS ({order} ROWS BETWEEN {others} PRECEDING AND CURRENT ROW),
    so_far AS ({order} ROWS UNBOUNDED PRECEDING)
), windows AS (
  SELECT * FROM ending WHERE position % {size} = 0
)
"""

# A row without a position has events that were merged, before all others. Each event is in the windows that end with it
# or with one of the next `size - 1` events of its key; a window that has lost events to a merge has fewer than it must.
_SLIDING_SQL: Final = """
WITH parts AS ({parts}), numbered AS (
  SELECT {keys} {columns} batch, first_time, last_time, page_views, clicks, event_count,
    CAST(merged AS BIGINT) + CAST(row_number() OVER ({order}) AS BIGINT) AS event_number
  FROM (
    SELECT parts.*,
      coalesce(sum(CASE WHEN record_position IS NULL THEN event_count END) OVER ({by}), 0) AS merged
    FROM parts
  ) AS counted WHERE record_position IS NOT NULL
), spread AS (
  SELECT numbered.*, event_number + ({slide} - event_number % {slide}) % {slide} + later.n * {slide} AS last_number
  FROM numbered CROSS JOIN range({overlap}) AS later (n)
), windows AS (
  SELECT {keys} {joined} max(batch) AS published_batch, min(first_time) AS start_ms, max(last_time) + 1 AS end_ms,
    CAST(sum(page_views) AS BIGINT) AS page_views, CAST(sum(clicks) AS BIGINT) AS clicks,
    CAST(sum(event_count) AS BIGINT) AS events
  FROM spread WHERE last_number < event_number + {size}
  GROUP BY {keys} last_number
  HAVING max(event_number) = last_number AND count(*) = least(last_number, {size})
)
"""


def with_full_windows(result: PublishedReport, windows: Counts | SlidingCounts, *, published: bool = True) -> str:
    """SQL `WITH parts, windows`: panes, and the windows whose last event they have, unless they lack earlier ones.

    With `published` up to the published batch.
    """
    keys, parts = result.report.keys, queries.panes_sql(result, published=published)
    by = queries.partition_by(keys)
    order, own = f"{by} ORDER BY batch, record_position", stored_parts(result.report)
    same = {"parts": parts, "keys": queries.columns(keys), "order": order}
    match windows:
        case Counts(size):
            joined = "".join(f"{part.joined('OVER last_events')} AS {part.column}, " for part in own)
            return _FULL_SQL.format(**same, joined=joined, others=size - 1, size=size)
        case SlidingCounts(size, slide):
            joined = "".join(f"{part.joined()} AS {part.column}, " for part in own)
            columns, overlap = queries.columns([part.column for part in own]), windows.overlap
            return _SLIDING_SQL.format(
                **same, joined=joined, columns=columns, by=by, size=size, slide=slide, overlap=overlap
            )
        case _:
            assert_never(windows)


def check(tables: WarehouseSnapshot, result: PublishedReport, kind: Counts | SlidingCounts, finding: Finding) -> None:
    """Checks that all full windows are published. Windows with equal columns are alike, so their number is compared."""
    sums, parts = result.counts, exact_parts(result.report)
    cell = (*result.cell, *sums, "published_batch")
    select = f"SELECT {', '.join(cell)}, {{}}1 AS windows FROM"
    actual = select.format("".join(f"{part.published} AS {part.column}, " for part in parts))
    expected = select.format("".join(f"{part.column}, " for part in parts))
    compared = queries.compared_sql(
        (*cell, *(part.column for part in parts)), ["windows"], f"{actual} {result.table}", f"{expected} windows"
    )
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
