"""Different users of a window: by sketches where panes keep sketches, else by the users themselves."""

from collections.abc import Iterable
from typing import Any, Final

from datasketches import hll_sketch, hll_union

from pipeline import columns as c
from pipeline.measures import Join
from pipeline.verifier import queries
from pipeline.verifier.periodic_sums import begin, is_whole
from pipeline.verifier.published_results import Shown
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot
from pipeline.verifier.wording import Row

_LG_K: Final = 12
_EXACT_UP_TO: Final = 300
"""Below this a sketch keeps every user, so that it can be made again."""
_ERROR: Final = 0.08
"""Five times the relative standard error of 1.6 %."""
_ERASED: Final = "erased-"
"""Before the name of somebody who was erased, and perhaps in pieces: who it was is not known.

Such a one may be known by other names than when it was counted.
"""
_ROUNDING: Final = 1000
"""One in so many: sketches that were merged in another order add up the same registers, perhaps in other roundings."""
_SHOWN: Final = "SELECT {cell}, unique_users FROM ({rows}) AS result JOIN windows ON start_ms = a AND end_ms = b"
_PARTS: Final = "FROM placed WHERE pane_start >= start_ms AND end_ms <= {watermark} AND {is_whole}"
_SKETCHES: Final = f"SELECT {{cell}}, array_agg(users) AS users {_PARTS} GROUP BY {{cell}}"
_CORRECTED: Final = "SELECT {cell}, array_agg(user_id) AS users FROM added GROUP BY {cell}"
_USERS: Final = f"""
SELECT {{cell}}, count(DISTINCT seen) AS users,
  count(DISTINCT CASE WHEN seen LIKE '{_ERASED}%' THEN seen END) AS erased,
  CASE WHEN count(DISTINCT seen) <= {_EXACT_UP_TO} THEN array_agg(DISTINCT seen) END AS few
FROM (
  SELECT {{cell}}, user_id AS seen {_PARTS}
  UNION ALL
  SELECT {{cell}}, user_id AS seen FROM added JOIN windows ON start_ms = a AND end_ms = b
  WHERE has_panes = 1 AND {{is_whole}}
) AS users GROUP BY {{cell}}
"""

Cell = tuple[Any, ...]
Expected = tuple[int, int]
"""How many users, and how far from it what is shown may be."""


def check(tables: WarehouseSnapshot, shown: Shown, finding: Finding) -> None:
    """Cell by cell, in windows none of whose panes can be gone."""
    has_sketches = any(part.join is Join.SKETCH for part in shown.report.parts)
    due = (_by_sketches if has_sketches else _by_users)(tables, shown)
    found = _cells(tables, shown, _SHOWN)
    finding.look(len(due), "cells with different users")
    for cell, (users, tolerance) in due.items():
        # That a cell is not shown at all is told where its counts are.
        row = found.get(cell)
        if row and abs(row[c.UNIQUE_USERS] - users) > tolerance:
            finding.breach(f"{shown.at(row)} shows {row[c.UNIQUE_USERS]} unique_users, but its panes have {users}")


def _cells(tables: WarehouseSnapshot, shown: Shown, query: str) -> dict[Cell, Row]:
    asked = query.format(
        cell=", ".join(shown.cell), rows=queries.rows(shown), watermark=shown.watermark, is_whole=is_whole(shown)
    )
    rows = tables.ask(f"{begin(tables, shown)} {asked}").to_pylist()
    return {tuple(row[name] for name in shown.cell): row for row in rows}


def _by_sketches(tables: WarehouseSnapshot, shown: Shown) -> dict[Cell, Expected]:
    due, added = _cells(tables, shown, _SKETCHES), _cells(tables, shown, _CORRECTED)
    expected = dict[Cell, Expected]()
    for cell, row in due.items():
        corrected = added[cell]["users"] if cell in added else []
        users = _union(row["users"], corrected)
        erased = sum(user.startswith(_ERASED) for user in corrected)
        expected[cell] = users, users // _ROUNDING + erased
    return expected


def _by_users(tables: WarehouseSnapshot, shown: Shown) -> dict[Cell, Expected]:
    """The number of users is exact; where it is small enough, so is what a sketch of them says."""
    expected = dict[Cell, Expected]()
    for cell, row in _cells(tables, shown, _USERS).items():
        users = row["users"] if row["few"] is None else _union([], row["few"])
        tolerance = int(users * _ERROR) if row["few"] is None else users // _ROUNDING
        expected[cell] = users, tolerance + row["erased"]
    return expected


def _union(sketches: Iterable[bytes], users: Iterable[str]) -> int:
    """How many different users there are in sketches and beside them."""
    union, beside = hll_union(_LG_K), hll_sketch(_LG_K)
    for sketch in sketches:
        union.update(hll_sketch.deserialize(sketch))
    for user in users:
        beside.update(user)
    union.update(beside)
    estimate: float = union.get_estimate()
    return round(estimate)
