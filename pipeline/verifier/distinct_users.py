"""Distinct users of a window: by sketches where panes have sketches, else by the users themselves."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from datasketches import hll_sketch, hll_union

from tidemark.pipeline import columns as c
from tidemark.pipeline.measures import Join
from tidemark.pipeline.verifier import queries
from tidemark.pipeline.verifier.periodic_sums import is_whole_sql, with_sums
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
_ROUNDING: Final = 1000
"""The tolerance is one in this number: sketches that are merged in another order round differently."""
_ACTUAL_SQL: Final = "SELECT {cell}, unique_users FROM ({rows}) AS result JOIN windows ON start_ms = a AND end_ms = b"
_PLACED_PANES_SQL: Final = "FROM placed WHERE pane_start >= start_ms AND end_ms <= {watermark} AND {is_whole}"
_SKETCHES_SQL: Final = f"SELECT {{cell}}, array_agg(users) AS users {_PLACED_PANES_SQL} GROUP BY {{cell}}"
_CORRECTED_SQL: Final = "SELECT {cell}, array_agg(user_id) AS users FROM added GROUP BY {cell}"
_USERS_SQL: Final = f"""
SELECT {{cell}}, count(DISTINCT counted_user) AS users,
  count(DISTINCT CASE WHEN counted_user LIKE '{_ERASED}%' THEN counted_user END) AS erased,
  CASE WHEN count(DISTINCT counted_user) <= {_EXACT_UP_TO} THEN array_agg(DISTINCT counted_user) END AS few
FROM (
  SELECT {{cell}}, user_id AS counted_user {_PLACED_PANES_SQL}
  UNION ALL
  SELECT {{cell}}, user_id AS counted_user FROM added JOIN windows ON start_ms = a AND end_ms = b
  WHERE has_panes = 1 AND {{is_whole}}
) AS users GROUP BY {{cell}}
"""

Cell = tuple[Any, ...]


class _Expected(NamedTuple):
    """The number of users of a cell, and how much the published number may differ from it."""

    users: int
    tolerance: int


def check(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Compares each cell of windows that have lost no panes."""
    has_sketches = any(part.join is Join.SKETCH for part in result.report.parts)
    expected = (_by_sketches if has_sketches else _by_users)(tables, result)
    actual = _cells(tables, result, _ACTUAL_SQL)
    finding.count(len(expected), "cell with different users", "cells with different users")
    for cell, (users, tolerance) in expected.items():
        row = actual.get(cell)  # the check of its counts reports a cell that is missing
        if row and abs(row[c.UNIQUE_USERS] - users) > tolerance:
            where = result.place_of(finding.displayable(row))
            finding.report(f"{where} shows {row[c.UNIQUE_USERS]} unique_users, but its panes have {users}")


def _cells(tables: WarehouseSnapshot, result: PublishedReport, template: str) -> dict[Cell, Row]:
    sql = template.format(
        cell=", ".join(result.cell),
        rows=queries.rows_sql(result),
        watermark=result.watermark,
        is_whole=is_whole_sql(result),
    )
    rows = tables.ask(f"{with_sums(tables, result)} {sql}").to_pylist()
    return {tuple(row[name] for name in result.cell): row for row in rows}


def _by_sketches(tables: WarehouseSnapshot, result: PublishedReport) -> dict[Cell, _Expected]:
    added, expected = _cells(tables, result, _CORRECTED_SQL), dict[Cell, _Expected]()
    for cell, row in _cells(tables, result, _SKETCHES_SQL).items():
        corrected = added[cell]["users"] if cell in added else []
        users = _union(row["users"], corrected)
        erased = sum(user.startswith(_ERASED) for user in corrected)
        expected[cell] = _Expected(users, users // _ROUNDING + erased)
    return expected


def _by_users(tables: WarehouseSnapshot, result: PublishedReport) -> dict[Cell, _Expected]:
    """Returns exact numbers of users: a published estimate of many users may differ more than one of few."""
    expected = dict[Cell, _Expected]()
    for cell, row in _cells(tables, result, _USERS_SQL).items():
        users = row["users"] if row["few"] is None else _union([], row["few"])
        tolerance = int(users * _RELATIVE_ERROR) if row["few"] is None else users // _ROUNDING
        expected[cell] = _Expected(users, tolerance + row["erased"])
    return expected


def _union(sketches: Iterable[bytes], users: Iterable[str]) -> int:
    """Returns the number of distinct users in sketches and among further users."""
    union, further = hll_union(_LG_K), hll_sketch(_LG_K)
    for sketch in sketches:
        union.update(hll_sketch.deserialize(sketch))
    for user in users:
        further.update(user)
    union.update(further)
    estimate: float = union.get_estimate()
    return round(estimate)
