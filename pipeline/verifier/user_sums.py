"""Totals of users: the sums of all their panes, and the number of their sessions."""

import zlib
from collections.abc import Collection
from functools import partial
from typing import Final

from tidemark.command_line.counts import counted
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.verifier import queries
from tidemark.pipeline.verifier.published_results import PublishedTotals
from tidemark.pipeline.verifier.verification import Finding, Row, time_text
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_COUNTS: Final = ("page_views", "clicks")
_SUMS: Final = (*_COUNTS, "sessions", "first_seen_ms", "last_seen_ms")
# A part with `sessions` counts this many final sessions; the other parts are merged within the gap.
_TOTALS_SQL: Final = """
WITH parts AS ({parts}), spans AS (
  SELECT user_id, first_time, last_time FROM parts WHERE sessions IS NULL
), counted AS (
  SELECT user_id, CAST(sum(sessions) AS BIGINT) AS sessions FROM (
    SELECT user_id, 1 AS sessions FROM ({swept}) AS swept WHERE open = 0
    UNION ALL SELECT user_id, sessions FROM parts WHERE sessions IS NOT NULL
  ) AS both GROUP BY user_id
), sums AS (
  SELECT user_id, sum(page_views) AS page_views, sum(clicks) AS clicks, min(first_time) AS first_seen_ms,
    max(last_time) AS last_seen_ms, CASE WHEN max(batch) > {batch} THEN 1 ELSE 0 END AS waits
  FROM parts GROUP BY user_id
), expected AS (
  SELECT sums.*, sessions FROM sums JOIN counted ON sums.user_id = counted.user_id
), added AS (
  SELECT user_id, sum(page_views) AS page_views, sum(clicks) AS clicks FROM {corrections} WHERE report = '{name}'
  GROUP BY user_id
), cells AS (
  SELECT both.*, added.user_id IS NOT NULL AS corrected,
    expected_page_views + coalesce(page_views, 0) AS most_page_views,
    expected_clicks + coalesce(clicks, 0) AS most_clicks
  FROM ({compared}) AS both LEFT JOIN added ON both.user_id = added.user_id
)
"""
# For users with unpublished events or corrections there are only bounds: which events a row contains is not stored.
_VIOLATION_SQL: Final = f"""
actual_page_views > most_page_views OR actual_clicks > most_clicks OR expected_waits = 0 AND (
  actual_rows = 0 OR {queries.differs_sql(_COUNTS, "<")} OR NOT corrected AND {queries.differs_sql(_SUMS)}
)
"""


def check(tables: WarehouseSnapshot, result: PublishedTotals, finding: Finding) -> None:
    """Compares each user, and checks the buckets."""
    cells = _TOTALS_SQL.format(
        parts=queries.panes_sql(result, published=False),
        swept=queries.sweep_sql("spans", [c.USER_ID], "first_time", f"last_time + {result.totals.gap_ms}"),
        # Totals are not published before there is a watermark.
        batch=rules.NO_WATERMARK if result.watermark == rules.NO_WATERMARK else result.batch,
        corrections=queries.all_corrections_sql(tables),
        name=result.name,
        compared=queries.compared_sql(
            [c.USER_ID], [*_SUMS, "waits"], f"SELECT *, 0 AS waits FROM {result.table}", "SELECT * FROM expected"
        ),
    )
    queries.check_cells(
        tables, finding, "user", cells, _VIOLATION_SQL, lambda row: _difference(result.name, row), c.USER_ID
    )
    _check_buckets(tables, result, finding)
    if waiting := tables.scalar(f"{cells} SELECT count(*) FROM cells WHERE expected_waits > 0"):
        finding.note(f"{result.name}: not published yet: events of {counted(waiting, 'user')}")


def _check_buckets(tables: WarehouseSnapshot, result: PublishedTotals, finding: Finding) -> None:
    """Checks that each user is in its bucket: in another one it would occur twice after its next event."""
    if c.BUCKET not in {field.name for field in tables.handles[result.name].schema().fields}:
        return  # no service of this version has opened the warehouse
    buckets = tables.ask(f"SELECT DISTINCT bucket FROM {result.table}").column(0).to_pylist()
    _, rows = tables.compare(f"SELECT user_id, bucket FROM {result.table}", partial(_other_bucket, {*buckets}))
    finding.report_rows(rows, f"{result.name}: user {{user_id!r}} is in bucket {{bucket}}, but belongs in {{expected}}")


def _other_bucket(buckets: Collection[int], row: Row) -> int | None:
    """Returns the existing bucket that equals most of the last bits of a user's hash; None if the user is in it."""
    hashed, bits = zlib.crc32(row[c.USER_ID].encode()), max(buckets).bit_length()
    bucket = next((bucket for taken in range(bits, 0, -1) if (bucket := hashed % 2**taken) in buckets), 0)
    return None if bucket == row[c.BUCKET] else bucket


def _difference(table: str, row: Row) -> str:
    user = f"{table}: user {row['user_id']!r}"
    if not row["actual_rows"]:
        return f"{user} is shown 0 times, but has panes of {row['expected_page_views']} page_views"
    different = [name for name in _SUMS if row[f"actual_{name}"] != row[f"expected_{name}"]]
    more = f" (with corrections at most {row['most_page_views']} page_views, {row['most_clicks']} clicks)"
    differences = " and ".join(
        f"{_value_text(name, row[f'actual_{name}'])}, but the panes have {_value_text(name, row[f'expected_{name}'])}"
        for name in different
    )
    return f"{user} shows {differences}{more if row['corrected'] else ''}"


def _value_text(name: str, value: int) -> str:
    return f"{name[:-3].replace('_', ' ')} {time_text(value)}" if name.endswith("_ms") else f"{value} {name}"
