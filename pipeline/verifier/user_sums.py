"""Totals of users: the sums of all their panes, and the number of their sessions."""

import zlib
from collections.abc import Collection
from typing import Final

from tidemark.command_line.counts import counted
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.verifier import queries
from tidemark.pipeline.verifier.published_results import PublishedTotals
from tidemark.pipeline.verifier.verification import Finding, Row, time_text
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_SUMS: Final = ("page_views", "clicks", "sessions", "first_ms", "last_ms")
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
  SELECT user_id, sum(page_views) AS page_views, sum(clicks) AS clicks, min(first_time) AS first_ms,
    max(last_time) AS last_ms, max(batch) > {batch} AS waits FROM parts GROUP BY user_id
), expected AS (
  SELECT sums.user_id, page_views, clicks, sessions, first_ms, last_ms, waits
  FROM sums JOIN counted ON sums.user_id = counted.user_id
), actual AS (
  SELECT user_id, page_views, clicks, sessions, CAST(first_seen AS BIGINT) / 1000 AS first_ms,
    CAST(last_seen AS BIGINT) / 1000 AS last_ms FROM {table}
), added AS (
  SELECT user_id, sum(page_views) AS page_views, sum(clicks) AS clicks FROM {corrections} WHERE report = '{name}'
  GROUP BY user_id
), cells AS (
  SELECT coalesce(actual.user_id, expected.user_id) AS user_id, actual.user_id IS NOT NULL AS is_actual,
    expected.user_id IS NOT NULL AS is_expected, coalesce(waits, false) OR {no_watermark} AS waits,
    added.user_id IS NOT NULL AS corrected,
    coalesce(expected.page_views, 0) + coalesce(added.page_views, 0) AS most_page_views,
    coalesce(expected.clicks, 0) + coalesce(added.clicks, 0) AS most_clicks, {both}
  FROM actual FULL JOIN expected ON actual.user_id = expected.user_id
  LEFT JOIN added ON added.user_id = coalesce(actual.user_id, expected.user_id)
)
"""
# For users with unpublished events or corrections there are only bounds: which events a row contains is not stored.
_VIOLATION_SQL: Final = f"""
NOT waits AND is_expected AND NOT is_actual
OR NOT waits AND NOT corrected AND {queries.differs_sql(_SUMS)}
OR is_actual AND (actual_page_views > most_page_views OR actual_clicks > most_clicks)
OR is_actual AND NOT waits AND (actual_page_views < expected_page_views OR actual_clicks < expected_clicks)
"""


def check(tables: WarehouseSnapshot, result: PublishedTotals, finding: Finding) -> None:
    """Compares each user, and checks the buckets."""
    cells = _TOTALS_SQL.format(
        parts=queries.panes_sql(result, published=False),
        swept=queries.sweep_sql("spans", [c.USER_ID], "first_time", f"last_time + {result.totals.gap_ms}"),
        batch=result.batch,
        table=result.table,
        corrections=queries.all_corrections_sql(tables),
        name=result.name,
        # Totals are not published before there is a watermark.
        no_watermark="true" if result.watermark == rules.NO_WATERMARK else "false",
        both=", ".join(
            f"coalesce(actual.{name}, 0) AS actual_{name}, coalesce(expected.{name}, 0) AS expected_{name}"
            for name in _SUMS
        ),
    )
    rows = tables.ask(queries.examples_sql(cells, _VIOLATION_SQL, "user_id"))
    finding.report_examples("user", rows, lambda row: _difference(result.name, row))
    _check_buckets(tables, result, finding)
    if waiting := tables.scalar(f"{cells} SELECT count(*) FROM cells WHERE waits"):
        finding.note(f"{result.name}: not published yet: events of {counted(waiting, 'user')}")


def _check_buckets(tables: WarehouseSnapshot, result: PublishedTotals, finding: Finding) -> None:
    """Checks that each user is in its bucket: in another one it would occur twice after its next event."""
    if c.BUCKET not in {field.name for field in tables.handles[result.name].schema().fields}:
        return  # no service of this version has opened the warehouse
    rows = tables.ask(f"SELECT user_id, bucket FROM {result.table} ORDER BY user_id").to_pylist()
    buckets = {row[c.BUCKET] for row in rows}
    for row in rows:
        expected = _bucket(zlib.crc32(row[c.USER_ID].encode()), buckets)
        if row[c.BUCKET] != expected:
            user = finding.displayable(row)[c.USER_ID]
            finding.report(f"{result.name}: user {user!r} is in bucket {row[c.BUCKET]}, but belongs in {expected}")


def _bucket(hashed: int, buckets: Collection[int]) -> int:
    """Returns the existing bucket that equals most of the last bits of a hash; 0 if there is no such bucket."""
    bits = max(buckets).bit_length()
    return next((bucket for taken in range(bits, 0, -1) if (bucket := hashed % 2**taken) in buckets), 0)


def _difference(table: str, row: Row) -> str:
    user = f"{table}: user {row['user_id']!r}"
    if not row["is_actual"]:
        return f"{user} is shown 0 times, but has panes of {row['expected_page_views']} page_views"
    different = [name for name in _SUMS if row[f"actual_{name}"] != row[f"expected_{name}"]]
    more = f" (with corrections at most {row['most_page_views']} page_views, {row['most_clicks']} clicks)"
    differences = " and ".join(
        f"{_value_text(name, row[f'actual_{name}'])}, but the panes have {_value_text(name, row[f'expected_{name}'])}"
        for name in different
    )
    return f"{user} shows {differences}{more if row['corrected'] else ''}"


def _value_text(name: str, value: int) -> str:
    return f"{name[:-3]} seen {time_text(value)}" if name.endswith("_ms") else f"{value} {name}"
