"""Distinct users of a window: by sketches where panes have sketches, else by the users themselves."""

from collections.abc import Iterable
from typing import Final

from datasketches import hll_sketch, hll_union

from tidemark.pipeline import columns as c
from tidemark.pipeline.verifier.periodic_sums import with_sums
from tidemark.pipeline.verifier.published_results import PublishedReport
from tidemark.pipeline.verifier.verification import Finding, Row
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_LG_K: Final = 12
_EXACT_UP_TO: Final = 300
"""Up to this many users a sketch contains every user, so that it can be recomputed."""
_RELATIVE_ERROR: Final = 0.08
"""Five times the relative standard error of 1.6 %."""
_ERASED: Final = "erased-"
"""Prefix of the anonymous ids of erased users. One user may have several of them."""
ROUNDING: Final = 1000
"""The tolerance is one in this number: sketches that are merged in another order round differently."""
# Panes have a sketch of their users, or one user each. A sketch may have any number of further users by corrections.
_USERS_SQL: Final = f"""
{{with_sums}} SELECT {{cell}}, max(unique_users) AS unique_users, array_agg(sketch) AS sketches,
  count(DISTINCT counted_user) AS users,
  count(DISTINCT CASE WHEN counted_user LIKE '{_ERASED}%' THEN counted_user END) AS erased,
  CASE WHEN count(DISTINCT counted_user) <= {_EXACT_UP_TO} OR count(sketch) > 0
    THEN array_agg(DISTINCT counted_user) END AS few
FROM (
  SELECT {{cell}}, unique_users, NULL AS sketch, NULL AS counted_user
  FROM {{table}} JOIN windows ON start_ms = a AND end_ms = b
  UNION ALL
  SELECT {{cell}}, NULL AS unique_users, users AS sketch, user_id AS counted_user FROM placed
  WHERE pane_start >= start_ms AND end_ms <= {{watermark}} AND {{is_whole}}
  UNION ALL
  SELECT {{cell}}, NULL AS unique_users, NULL AS sketch, user_id AS counted_user FROM added
  JOIN windows ON start_ms = a AND end_ms = b
  WHERE has_panes = 1 AND {{is_whole}}
) AS users GROUP BY {{cell}} HAVING count(unique_users) > 0 AND count(sketch) + count(counted_user) > 0
"""


def check(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Compares each cell of windows that have lost no panes; the check of its counts reports a cell that is missing."""
    cells = _USERS_SQL.format(
        with_sums=with_sums(tables, result),
        cell=", ".join(result.cell),
        table=result.table,
        watermark=result.watermark,
        is_whole=result.is_whole_sql,
    )
    count, rows = tables.compare(cells, _expected)
    finding.count(count, "cell with different users", "cells with different users")
    finding.report_rows(
        rows,
        lambda row: (
            f"{result.place_of(row)} shows {row[c.UNIQUE_USERS]} unique_users, but its panes have {row['expected']}"
        ),
    )


def _expected(row: Row) -> int | None:
    """Returns the number of users of a cell, None if the published number is near.

    A published estimate of many users may differ more than one of few.
    """
    users, tolerance = row["users"], int(row["users"] * _RELATIVE_ERROR)
    if row["few"] is not None:
        users = union(filter(None, row["sketches"]), filter(None, row["few"]))
        tolerance = users // ROUNDING
    return users if abs(row[c.UNIQUE_USERS] - users) > tolerance + row["erased"] else None


def union(sketches: Iterable[bytes], users: Iterable[str] = ()) -> int:
    """Returns the number of distinct users or other texts in sketches and among further users."""
    union, further = hll_union(_LG_K), hll_sketch(_LG_K)
    for sketch in sketches:
        union.update(hll_sketch.deserialize(bytes(sketch)))
    for user in users:
        further.update(user)
    union.update(further)
    estimate: float = union.get_estimate()
    return round(estimate)
