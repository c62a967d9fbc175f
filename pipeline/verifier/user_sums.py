"""Totals of users: what all their panes add up to, with the number of their sessions."""

import zlib
from collections.abc import Collection
from typing import Final

from pipeline import columns as c
from pipeline.event_time import rules
from pipeline.verifier import queries
from pipeline.verifier.published_results import ShownTotals
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot
from pipeline.verifier.wording import Row, moment

_NUMBERS: Final = ("page_views", "clicks", "sessions", "first_ms", "last_ms")
# What has `sessions` stands for so many that nothing joins any more; other parts are sessions where a gap is between.
_TOTALS: Final = """
WITH parts AS ({parts}), spans AS (
  SELECT user_id, first_time, last_time FROM parts WHERE sessions IS NULL
), counted AS (
  SELECT user_id, CAST(sum(sessions) AS BIGINT) AS sessions FROM (
    SELECT user_id, 1 AS sessions FROM ({swept}) AS swept WHERE open = 0
    UNION ALL SELECT user_id, sessions FROM parts WHERE sessions IS NOT NULL
  ) AS both GROUP BY user_id
), sums AS (
  SELECT user_id, sum(page_views) AS page_views, sum(clicks) AS clicks, min(first_time) AS first_ms,
    max(last_time) AS last_ms, max(batch) > {published} AS waits FROM parts GROUP BY user_id
), due AS (
  SELECT sums.user_id, page_views, clicks, sessions, first_ms, last_ms, waits
  FROM sums JOIN counted ON sums.user_id = counted.user_id
), shown AS (
  SELECT user_id, page_views, clicks, sessions, CAST(first_seen AS BIGINT) / 1000 AS first_ms,
    CAST(last_seen AS BIGINT) / 1000 AS last_ms FROM {table}
), added AS (
  SELECT user_id, sum(page_views) AS page_views, sum(clicks) AS clicks FROM {decided} WHERE report = '{name}'
  GROUP BY user_id
), cells AS (
  SELECT coalesce(shown.user_id, due.user_id) AS user_id, shown.user_id IS NOT NULL AS is_shown,
    due.user_id IS NOT NULL AS is_due, coalesce(waits, false) OR {no_watermark} AS waits,
    added.user_id IS NOT NULL AS corrected,
    coalesce(due.page_views, 0) + coalesce(added.page_views, 0) AS most_page_views,
    coalesce(due.clicks, 0) + coalesce(added.clicks, 0) AS most_clicks, {both}
  FROM shown FULL JOIN due ON shown.user_id = due.user_id
  LEFT JOIN added ON added.user_id = coalesce(shown.user_id, due.user_id)
)
"""
# What came since the last publication, and which corrections it had, cannot be told: then there are only bounds.
_BROKEN: Final = f"""
NOT waits AND is_due AND NOT is_shown
OR NOT waits AND NOT corrected AND {queries.differs(_NUMBERS)}
OR is_shown AND (shown_page_views > most_page_views OR shown_clicks > most_clicks)
OR is_shown AND NOT waits AND (shown_page_views < due_page_views OR shown_clicks < due_clicks)
"""


def check(tables: WarehouseSnapshot, shown: ShownTotals, finding: Finding) -> None:
    """User by user."""
    cells = _TOTALS.format(
        parts=queries.parts(shown, published=False),
        swept=queries.sweep_sql("spans", [c.USER_ID], "first_time", f"last_time + {shown.totals.gap_ms}"),
        published=shown.published,
        table=shown.table,
        decided=queries.decided(tables),
        name=shown.name,
        # Before there is a watermark nothing is written.
        no_watermark="true" if shown.watermark == rules.NO_WATERMARK else "false",
        both=", ".join(
            f"coalesce(shown.{name}, 0) AS shown_{name}, coalesce(due.{name}, 0) AS due_{name}" for name in _NUMBERS
        ),
    )
    rows = tables.ask(queries.examples(cells, _BROKEN, "user_id"))
    finding.among("users", rows, lambda row: _difference(shown.name, row))
    _check_buckets(tables, shown, finding)
    if waiting := tables.number(f"{cells} SELECT count(*) FROM cells WHERE waits"):
        finding.tell(f"{shown.name}: {waiting:,} users have events that are not published yet")


def _check_buckets(tables: WarehouseSnapshot, shown: ShownTotals, finding: Finding) -> None:
    """A user in another bucket than the hash says would be there twice after its next event."""
    if c.BUCKET not in {field.name for field in tables.handles[shown.name].schema().fields}:
        return  # no service of this version has opened the warehouse
    rows = tables.ask(f"SELECT user_id, bucket FROM {shown.table} ORDER BY user_id").to_pylist()
    there = {row[c.BUCKET] for row in rows}
    for row in rows:
        wanted = _bucket(zlib.crc32(row[c.USER_ID].encode()), there)
        if row[c.BUCKET] != wanted:
            finding.breach(
                f"{shown.name}: user {row[c.USER_ID]!r} is in bucket {row[c.BUCKET]}, but belongs in {wanted}"
            )


def _bucket(hashed: int, there: Collection[int]) -> int:
    """Of the buckets that there are the one that has most of the last bits of a hash; else the first."""
    bits = max(there).bit_length()
    return next((one for taken in range(bits, 0, -1) if (one := hashed % 2**taken) in there), 0)


def _difference(name: str, row: Row) -> str:
    if not row["is_shown"]:
        return f"{name}: user {row['user_id']!r} is shown 0 times, but has panes of {row['due_page_views']} page_views"
    told = [one for one in _NUMBERS if row[f"shown_{one}"] != row[f"due_{one}"]]
    more = f" (with corrections at most {row['most_page_views']} page_views, {row['most_clicks']} clicks)"
    differences = " and ".join(
        f"{_said(one, row[f'shown_{one}'])}, but the panes have {_said(one, row[f'due_{one}'])}" for one in told
    )
    return f"{name}: user {row['user_id']!r} shows {differences}{more if row['corrected'] else ''}"


def _said(number: str, value: int) -> str:
    return f"{number[:-3]} seen {moment(value)}" if number.endswith("_ms") else f"{value} {number}"
