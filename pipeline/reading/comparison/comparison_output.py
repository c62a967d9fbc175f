"""Prints a comparison of two warehouses as text or JSON."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from typing import Any, Final

from tidemark.command_line.counts import counted
from tidemark.command_line.terminal import Console, Table, styled
from tidemark.pipeline import columns as c
from tidemark.pipeline.instants import ms_of
from tidemark.pipeline.reading.comparison.common_spans import instant_text
from tidemark.pipeline.reading.comparison.comparison_outcome import Comparison, ComparisonOutcome, TableComparison
from tidemark.pipeline.reading.comparison.row_differences import DifferentRow, RowDifferences
from tidemark.pipeline.reading.comparison.side import NAMES

_STYLES: Final = {
    ComparisonOutcome.EQUAL: "green",
    ComparisonOutcome.DIFFERENT: "red",
    ComparisonOutcome.INCOMPLETE: "yellow",
}
_NAMED: Final = 3
"""At most this many tables are named where a column is left out."""


def print_text(comparison: Comparison, console: Console | None = None) -> None:
    """Prints a table of what was compared, then a sentence for each setting, gap and first difference."""
    console = console or Console()
    for name, side in zip(NAMES, comparison.sides, strict=True):
        until = "no watermark" if side.watermark is None else f"watermark {instant_text(side.watermark)}"
        console.print(f"{name}: {side.warehouse}, batch {side.batch}, {until}", soft_wrap=True)
    for difference in comparison.settings:
        text = f"SETTING: {difference.setting}: {difference.warehouse} in warehouse, {difference.other} in other"
        console.print(text, soft_wrap=True)
    for sentence in comparison.by_hand:
        console.print(f"note: {sentence}", soft_wrap=True)
    table = Table("table", "compared", *NAMES, "")
    for each in comparison.tables:
        table.add_row(each.name, *_row_of(each))
    console.print_rows(table)
    for sentence in sentences(comparison):
        console.print(sentence, soft_wrap=True)
    console.print(styled(f"The two are {_answer(comparison.outcome)}.", _STYLES[comparison.outcome]), soft_wrap=True)


def _answer(outcome: ComparisonOutcome) -> str:
    return {
        ComparisonOutcome.EQUAL: "equal in everything that was compared",
        ComparisonOutcome.DIFFERENT: "different",
        ComparisonOutcome.INCOMPLETE: "not different in anything that was compared, but not everything could be",
    }[outcome]


def _row_of(table: TableComparison) -> list[Any]:
    differences = table.differences
    if differences is None:
        return ["nothing", "", "", styled("not compared", "yellow")]
    count = differences.count
    verdict = styled(counted(count, "DIFFERENCE", "DIFFERENCES"), "red") if count else styled("equal", "green")
    rows = (counted(number, "row") for number in (differences.warehouse_rows, differences.other_rows))
    return [table.compared, *rows, verdict]


def sentences(comparison: Comparison) -> Iterator[str]:
    """Yields what was not compared, the columns that were left out, and the first differences."""
    for table in comparison.tables:
        for phrase in table.not_compared:
            yield f"not compared: {table.name}: {phrase}"
        for measure in table.lacks:
            yield f"not compared: {table.name}: {measure}, because only one of the two has it, or defines it so"
    for column, (names, reason) in _left_out(comparison.tables).items():
        of = ", ".join(names) if len(names) <= _NAMED else counted(len(names), "table")
        yield f"left out: {column} of {of}: {reason}"
    for table in comparison.tables:
        if table.differences:
            yield from _differences(table, table.differences)


def _left_out(tables: Sequence[TableComparison]) -> Mapping[str, tuple[list[str], str]]:
    """Returns the tables and the reason by the columns that are left out of the same tables for the same reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for table in tables:
        for column, reason in (table.left_out or {}).items():
            found.setdefault((column, reason), []).append(table.name)
    by_reason: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (column, reason), names in found.items():
        by_reason.setdefault((reason, tuple(names)), []).append(column)
    return {", ".join(columns): ([*names], reason) for (reason, names), columns in by_reason.items()}


def _differences(table: TableComparison, differences: RowDifferences) -> Iterator[str]:
    def cell(row: DifferentRow) -> list[Any]:
        return [row.values[name] for name in table.cell]

    shown = 0
    for _, rows in groupby(differences.examples, cell):
        shown += 1
        yield f"DIFFERENT: {table.name}: {_difference(table, [*rows])}"
    if differences.count > shown:
        yield (
            f"DIFFERENT: {table.name}: {counted(differences.count, 'difference')} in all, of which {shown} are shown: "
            f"{differences.changed:,} with other values, {differences.only_warehouse:,} only in warehouse, "
            f"{differences.only_other:,} only in other"
        )


def _difference(table: TableComparison, rows: Sequence[DifferentRow]) -> str:
    place = _place(table, rows[0].values)
    mine = [row for row in rows if row.in_warehouse > row.in_other]
    others = [row for row in rows if row.in_other > row.in_warehouse]
    if len(mine) == len(others) == 1:
        one, two = mine[0].values, others[0].values
        changed = [name for name in table.values if one[name] != two[name]]
        return f"{place}: " + ", ".join(
            f"{name} is {_value(one[name])} in warehouse and {_value(two[name])} in other" for name in changed
        )
    return f"{place}: " + "; ".join(map(_with_counts(table.values), rows))


def _with_counts(names: Sequence[str]) -> Callable[[DifferentRow], str]:
    def text(row: DifferentRow) -> str:
        values = ", ".join(f"{name} {_value(row.values[name])}" for name in names)
        if 0 in (row.in_warehouse, row.in_other):
            times = max(row.in_warehouse, row.in_other)
            where = f"only in {NAMES[0] if row.in_warehouse else NAMES[1]}"
            return f"{values} is {where}" + (f", {counted(times, 'time')}" if times > 1 else "")
        in_both = counted(row.in_warehouse, "time"), counted(row.in_other, "time")
        return f"{values} is {in_both[0]} in warehouse and {in_both[1]} in other"

    return text


def _place(table: TableComparison, values: Mapping[str, Any]) -> str:
    if c.WINDOW_START not in table.cell:
        return ", ".join(f"{name} {_value(values[name])}" for name in table.cell)
    window = f"window [{_value(values[c.WINDOW_START])}, {_value(values[c.WINDOW_END])})"
    keys = ", ".join(f"{name} {_value(values[name])}" for name in table.cell[2:])
    return f"{window} of {keys}" if keys else window


def _value(value: Any) -> str:
    if isinstance(value, datetime):
        return instant_text(ms_of(value))
    return repr(value) if isinstance(value, str) else str(value)


def as_json(comparison: Comparison) -> str:
    """Returns a comparison as JSON. Times are ISO 8601 in UTC."""
    plain: dict[str, Any] = {
        "outcome": comparison.outcome,
        **{
            str(name): {
                "path": side.warehouse,
                "batch": side.batch,
                "watermark": None if side.watermark is None else instant_text(side.watermark),
            }
            for name, side in zip(NAMES, comparison.sides, strict=True)
        },
        "settings": [
            {"setting": each.setting, "warehouse": each.warehouse, "other": each.other} for each in comparison.settings
        ],
        "notes": [*comparison.by_hand],
        "tables": [*map(_table_json, comparison.tables)],
    }
    return json.dumps(plain, indent=1) + "\n"


def _table_json(table: TableComparison) -> dict[str, Any]:
    differences = table.differences
    return {
        "table": table.name,
        "compared": table.compared or None,
        "columns": [*table.cell, *table.values],
        "left_out": dict(table.left_out or {}),
        "not_compared": [*table.not_compared, *(f"measure {name}" for name in table.lacks)],
        "rows": differences and {"warehouse": differences.warehouse_rows, "other": differences.other_rows},
        "differences": differences
        and {
            "count": differences.count,
            "changed": differences.changed,
            "only_warehouse": differences.only_warehouse,
            "only_other": differences.only_other,
            "first": [*map(_row_json, differences.examples)],
        },
    }


def _row_json(row: DifferentRow) -> dict[str, Any]:
    values = {name: _plain(value) for name, value in row.values.items()}
    return {"warehouse": row.in_warehouse, "other": row.in_other, "row": values}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return instant_text(ms_of(value))
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)
