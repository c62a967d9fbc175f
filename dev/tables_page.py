"""Writes `docs/tables.md` from the comments of tables and columns: `make pages`."""

from pathlib import Path
from typing import Final

import pyarrow as pa

from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.measures import MEASURES
from tidemark.pipeline.tables.dictionary import STATE, about_live, comment_of
from tidemark.pipeline.tables.schemas import OWN, USER_TOTALS, TableSpec, result_of

PAGE: Final = Path(__file__).parents[1] / "docs" / "tables.md"
_EVERYTHING: Final = Report("NAME", Grid(1, 1), 0, ("user_id", "page_url", "event_type"), measures=tuple(MEASURES))
_HEAD: Final = """# Tables

Made by `make pages` from what the tables say of themselves; Spark shows it with `DESCRIBE EXTENDED`, and
`tidemark sql` in `duckdb_views()` and `duckdb_columns()`.

**Times.** Windows and measures have times as timestamps in UTC. The tables that the service itself uses (`ledger`,
`dead_letters`, `corrections`, `panes`, `event_ids`) have them as 64-bit integers: milliseconds since
1970-01-01T00:00:00Z. The views of `tidemark sql` and `tidemark sql-server` have every time as a timestamp, and there
`window_start_ms` and `window_end_ms` are called `window_start` and `window_end`.
([Decision 15](decisions/0015-analyst.md) says why the tables do not.)

**Windows** are half-open: `[window_start, window_end)`.
"""
_REPORT: Final = """
## The table of a report

Each report has a table of its name: out of the box `page_views` per user, `page_traffic` per page and `site_traffic` in
all. It has the keys and the measures of its [settings](settings.md#reports), of those below.
"""
_TYPES: Final = {
    pa.int64(): "bigint",
    pa.int32(): "int",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.timestamp("us", tz="UTC"): "timestamp",
}


def page() -> str:
    """Returns the text of the page."""
    fixed = (USER_TOTALS, *OWN)
    state = (STATE, "string", about_live(_EVERYTHING).columns[STATE])
    live = f"\nThe view `NAME_live` has one column more:\n\n{_rows([state])}"
    return "".join(
        [
            _HEAD,
            _REPORT,
            _description(result_of(_EVERYTHING)),
            live,
            *(f"\n## {spec.name}\n{_description(spec)}" for spec in fixed),
        ]
    )


def _description(spec: TableSpec) -> str:
    about = spec.about
    columns = [(field.name, _TYPES.get(field.type, "array"), comment_of(field)) for field in spec.schema]
    return (
        f"\n- **One row is**: {about.row}\n- **Key**: {', '.join(f'`{name}`' for name in about.key)}\n"
        f"- **Changes**: {about.changes}\n- **Final**: {about.final}\n\n{_rows(columns)}"
    )


def _rows(columns: list[tuple[str, str, str]]) -> str:
    head = "| column | type | meaning |\n|---|---|---|\n"
    return head + "".join(f"| `{name}` | {kind} | {comment} |\n" for name, kind, comment in columns)


if __name__ == "__main__":
    PAGE.write_text(page())
