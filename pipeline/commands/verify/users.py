"""Different users of a window: by sketches where panes keep sketches, else by the users themselves."""

from collections.abc import Iterable
from typing import Any, Final

from datasketches import hll_sketch, hll_union

from pipeline import columns as c
from pipeline.commands.verify import sql
from pipeline.commands.verify.periodic import Periodic, windows_of
from pipeline.commands.verify.shown import Shown
from pipeline.commands.verify.tables import Tables
from pipeline.commands.verify.text import cell
from pipeline.commands.verify.verification import Finding, Row
from pipeline.measures import Join

_LG_K: Final = 12
_EXACT_UP_TO: Final = 300
"""Below this a sketch keeps every user, so that it can be made again."""
_ERROR: Final = 0.08
"""Five times the relative standard error of 1.6 %."""
_ERASED: Final = "erased-"
"""Before the name of somebody who was erased, and perhaps in pieces: who it was is not known."""
_ROUNDING: Final = 1000
"""One in so many: sketches that were merged in another order add up the same registers, perhaps in other roundings."""


def check(tables: Tables, shown: Shown, finding: Finding) -> None:
    """Cell by cell, in windows none of whose panes can be gone."""
    it = Periodic(tables, shown)
    due = _sketches(it) if any(part.join is Join.SKETCH for part in shown.report.parts) else _users(it)
    found = _shown(it)
    finding.look(len(due), "cells with different users")
    for key, (users, tolerance) in due.items():
        # That a cell is not shown at all is told where its counts are.
        if key in found and abs(found[key] - users) > tolerance:
            row = dict(zip(it.cell, key, strict=True))
            finding.breach(
                f"{shown.name}: {cell(row, shown.report.keys)} shows {found[key]} unique_users, but its panes have "
                f"{users}"
            )


Expected = tuple[int, int]
"""How many users, and how far from it what is shown may be."""


def _begin(it: Periodic) -> str:
    return f"{it.placed()}, due AS ({it.due()}), {windows_of(it)}"


def _where(it: Periodic) -> str:
    return f"WHERE pane_start >= start_ms AND end_ms <= {it.shown.watermark} AND {it.is_whole()}"


def _shown(it: Periodic) -> dict[tuple[Any, ...], int]:
    rows = it.tables.ask(
        f"{_begin(it)} SELECT {', '.join(it.cell)}, unique_users FROM ({sql.rows(it.shown)}) AS result "
        "JOIN windows ON start_ms = a AND end_ms = b"
    )
    return {_key(row, it): row[c.UNIQUE_USERS] for row in rows.to_pylist()}


def _key(row: Row, it: Periodic) -> tuple[Any, ...]:
    return tuple(row[name] for name in it.cell)


def _sketches(it: Periodic) -> dict[tuple[Any, ...], Expected]:
    cell_of = ", ".join(it.cell)
    rows = it.tables.ask(
        f"{_begin(it)} SELECT {cell_of}, array_agg(users) AS users FROM placed {_where(it)} GROUP BY {cell_of}"
    )
    added = _corrected(it)
    return {
        _key(row, it): _with_erased(_estimated(_union(row["users"], some)), sum(map(_is_erased, some)))
        for row in rows.to_pylist()
        for some in [added.get(_key(row, it), [])]
    }


def _is_erased(user: str) -> bool:
    return user.startswith(_ERASED)


def _with_erased(users: Expected, erased: int) -> Expected:
    """Who was erased may be known by other names than when it was counted."""
    return users[0], users[1] + erased


def _estimated(users: int) -> Expected:
    return users, users // _ROUNDING


def _users(it: Periodic) -> dict[tuple[Any, ...], Expected]:
    """The number of users is exact; where it is small enough, so is what a sketch of them says."""
    cell_of = ", ".join(it.cell)
    users = f"SELECT {cell_of}, user_id AS seen FROM placed {_where(it)}"
    if added := sql.corrections(it.tables, it.shown):
        users += (
            f" UNION ALL SELECT {cell_of}, user_id AS seen FROM ({added}) AS added "
            f"JOIN windows ON start_ms = a AND end_ms = b WHERE has_panes = 1 AND {it.is_whole()}"
        )
    erased = f"count(DISTINCT CASE WHEN seen LIKE '{_ERASED}%' THEN seen END)"
    rows = it.tables.ask(
        f"{_begin(it)} SELECT {cell_of}, count(DISTINCT seen) AS users, {erased} AS erased, "
        f"CASE WHEN count(DISTINCT seen) <= {_EXACT_UP_TO} THEN array_agg(DISTINCT seen) END AS few "
        f"FROM ({users}) AS users GROUP BY {cell_of}"
    )
    return {_key(row, it): _with_erased(_expected(row), row["erased"]) for row in rows.to_pylist()}


def _expected(row: Row) -> Expected:
    if row["few"] is None:
        return row["users"], int(row["users"] * _ERROR)
    return _estimated(_union([], row["few"]))


def _corrected(it: Periodic) -> dict[tuple[Any, ...], list[str]]:
    users: dict[tuple[Any, ...], list[str]] = {}
    if added := sql.corrections(it.tables, it.shown):
        rows = it.tables.ask(f"SELECT {', '.join(it.cell)}, user_id AS seen FROM ({added}) AS added")
        for row in rows.to_pylist():
            users.setdefault(_key(row, it), []).append(row["seen"])
    return users


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
