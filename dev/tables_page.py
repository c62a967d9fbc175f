"""Writes `docs/tables.md` from the comments of tables and columns: `make pages`."""

import re
from itertools import groupby
from pathlib import Path
from typing import Final

import pyarrow as pa

from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.measures import MEASURES
from tidemark.pipeline.tables.dictionary import FINAL, STATE, about_live, comment_of, timestamp_comment
from tidemark.pipeline.tables.schemas import ERASED_USERS, EVENT_IDS, OWN, PANES, USER_TOTALS, TableSpec, result_of

PAGE: Final = Path(__file__).parents[1] / "docs" / "tables.md"
_EVERYTHING: Final = Report("NAME", Grid(1, 1), 0, ("user_id", "page_url", "event_type"), measures=tuple(MEASURES))
_HEAD: Final = """# Tables

The tables contain these descriptions: see `DESCRIBE EXTENDED` in Spark, `duckdb_columns()` in `tidemark sql`.

A timestamp is in UTC. `ms` is a bigint with milliseconds since 1970-01-01T00:00:00Z; the views of `tidemark sql` and
`tidemark sql-server` have timestamps instead, in `window_start` and `window_end` without `_ms`. Windows are half-open:
`[window_start, window_end)`.
"""
_REPORT: Final = """
## The table of a report

By default `page_views` per user, `page_traffic` per page, and `site_traffic`. The table has those of the columns below
that are keys or measures in its [settings](settings.md#reports).
"""
_INTERNAL: Final = """
## Internal tables

Not meant for readers, who have the live views; their metadata describes the columns.

| table | one row is | it changes |
|---|---|---|
"""
_INTERNALS: Final = (PANES, EVENT_IDS, ERASED_USERS)
_TYPES: Final = {
    pa.int64(): "bigint",
    pa.int32(): "int",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.timestamp("us", tz="UTC"): "timestamp",
}


def page() -> str:
    """Returns the text of the page."""
    fixed = [spec for spec in (USER_TOTALS, *OWN) if spec not in _INTERNALS]
    state = (STATE, "string", about_live(_EVERYTHING).columns[STATE])
    live = f"\nThe view `NAME_live` has one column more:\n\n{_rows([state])}"
    return "".join(
        [
            _HEAD,
            _REPORT,
            _description(result_of(_EVERYTHING)),
            live,
            *(f"\n## {spec.name}\n{_description(spec)}" for spec in fixed),
            _INTERNAL,
            *map(_internal, _INTERNALS),
        ]
    )


def _description(spec: TableSpec) -> str:
    about = spec.about
    final = "" if about.final == FINAL else f" {about.final}"
    return (
        f"\n- **One row is**: {about.row}\n- **Key**: {', '.join(f'`{name}`' for name in about.key)}\n"
        f"- **Changes**: {about.changes}{final}\n\n{_rows([_column(field) for field in spec.schema])}"
    )


def _internal(spec: TableSpec) -> str:
    """Returns the row of an internal table."""
    return f"| `{spec.name}` | {spec.about.row.removeprefix('Internal: ')} | {spec.about.changes} |\n"


def _column(field: pa.Field) -> tuple[str, str, str]:
    """Returns the name, the type and the meaning of a column; the type of a time in milliseconds is `ms`."""
    in_ms = timestamp_comment(field)
    return (field.name, "ms", in_ms) if in_ms else (field.name, _TYPES.get(field.type, "array"), comment_of(field))


def _rows(columns: list[tuple[str, str, str]]) -> str:
    """Returns a table of columns, with one row for columns that differ in their number alone."""
    rows = "| column | type | meaning |\n|---|---|---|\n"
    for (_, kind, comment), alike in groupby(columns, _without_numbers):
        (name, _, own_comment), *others = alike
        first, meaning = (f"{name}` to `{others[-1][0]}", comment) if others else (name, own_comment)
        rows += f"| `{first}` | {kind} | {meaning} |\n"
    return rows


def _without_numbers(column: tuple[str, str, str]) -> tuple[str, ...]:
    return tuple(re.sub(r"\d+", "N", text) for text in column)


if __name__ == "__main__":
    PAGE.write_text(page())
