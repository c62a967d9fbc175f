"""Views of the tables for readers: times as timestamps, committed rows only, and a live view of each report.

The tables `ledger`, `dead_letters` and `corrections` store times as integers; their views have timestamps.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.reports import Report, view_name
from tidemark.pipeline.reading.periods.table_progress import since_by_name
from tidemark.pipeline.reading.site_views import STARTS, site_views
from tidemark.pipeline.results.layout import stored_report, stored_reports
from tidemark.pipeline.results.live_view import live_sql
from tidemark.pipeline.tables.dictionary import about_live, comment_of, timestamp_comment
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.ledger import Ledger, require_warehouse
from tidemark.pipeline.tables.schemas import (
    CORRECTIONS,
    DEAD_LETTERS,
    ERASURES,
    LEDGER,
    PANES,
    USER_TOTALS,
    TableSpec,
    find_table,
    is_table,
    result_of,
)
from tidemark.pipeline.tables.transactions import REMOVED_APP, version_of

_YEAR_1_MS: Final = -62_135_596_800_000
"""Event times may be arbitrary. Engines cannot represent times before this, or after the year 9999."""


@dataclass(frozen=True, slots=True)
class View:
    """A view: its query, its comment, and the comments of its columns in order."""

    name: str
    query: str
    comment: str
    columns: Mapping[str, str]

    def statements(self, engine: Engine) -> list[str]:
        """Returns the statements that create the view with its comments."""
        name = engine.quoted(self.name)  # a report may be called `order`
        if engine is Engine.SPARK:
            return [f"CREATE OR REPLACE VIEW {self._in_spark()}"]
        return [
            f"CREATE OR REPLACE VIEW {name} AS {self.query}",
            f"COMMENT ON VIEW {name} IS {text_sql(self.comment)}",
            *(
                f"COMMENT ON COLUMN {name}.{engine.quoted(column)} IS {text_sql(text)}"
                for column, text in self.columns.items()
            ),
        ]

    def temporary(self) -> str:
        """Returns the statement that creates the view in a session of Spark."""
        return f"CREATE OR REPLACE TEMPORARY VIEW {self._in_spark()}"

    def _in_spark(self) -> str:
        """Returns the definition, with its comments."""
        columns = ", ".join(
            f"{Engine.SPARK.quoted(column)} COMMENT {_spark_text_sql(text)}" for column, text in self.columns.items()
        )
        return f"{Engine.SPARK.quoted(self.name)} ({columns}) COMMENT {_spark_text_sql(self.comment)} AS {self.query}"


def views(warehouse: str, engine: Engine) -> list[View]:
    """Returns a view of each existing table, the live view of each report, and those of a site. Changes nothing.

    Some read views that are before them.

    Raises SetUpError if there is no warehouse.
    """
    require_warehouse(warehouse)
    openings = Ledger(warehouse, mends=False).openings()
    policies = [opening.policy for opening in openings.values()]
    since = since_by_name(DeltaTable(LEDGER.uri(warehouse)), max(openings, default=0))
    reports = stored_reports(sorted({report.name for policy in policies for report in policy.reports}), warehouse)
    specs = (LEDGER, DEAD_LETTERS, CORRECTIONS, ERASURES, *map(result_of, reports), USER_TOTALS)
    existing = {spec.name: spec for spec in specs if DeltaTable.is_deltatable(spec.uri(warehouse))}
    starts = [existing[name] for name in STARTS if name in existing]
    removed_until = {spec.name: version_of(DeltaTable(spec.uri(warehouse)), REMOVED_APP) for spec in starts}
    removed = {name: until for name, until in removed_until.items() if until}
    corrected, panes = CORRECTIONS.name in existing, find_table(PANES.name, warehouse)
    return [
        *(_table_view(spec, warehouse, engine) for spec in existing.values()),
        *(
            _live_view(report, live_sql(warehouse, report, engine, corrected=corrected, panes=panes))
            for report in reports
        ),
        *(View(*view) for view in site_views(since, removed, engine)),
    ]


def live_view_sql(warehouse: str, report: str, engine: Engine) -> str:
    """Returns the statement that creates the live view of a report; for delta-rs, which has no views, the query.

    Raises SetUpError if there is no warehouse, or the report cannot have a view.
    """
    require_warehouse(warehouse)
    corrected = is_table(CORRECTIONS.uri(warehouse))
    panes, stored = find_table(PANES.name, warehouse), stored_report(report, warehouse)
    query = live_sql(warehouse, stored, engine, corrected=corrected, panes=panes).strip()
    # Spark stores views on paths for a session only.
    return query if engine is Engine.DELTA_RS else f"CREATE OR REPLACE TEMPORARY VIEW {view_name(report)} AS\n{query}"


def _table_view(spec: TableSpec, warehouse: str, engine: Engine) -> View:
    # A table of an older version may lack a column until a service has opened the warehouse.
    existing = {field.name for field in DeltaTable(spec.uri(warehouse)).schema().fields}
    columns = [_column(field, engine) for field in spec.schema if field.name in existing]
    query = f"SELECT {', '.join(column.sql for column in columns)} FROM {engine.table(spec, warehouse)}"  # noqa: S608 - our own names
    if spec is DEAD_LETTERS:
        query += f" WHERE {c.BATCH} IN (SELECT {c.BATCH} FROM {engine.table(LEDGER, warehouse)})"  # noqa: S608 - our own names
    return View(spec.name, query, spec.about.description, {column.name: column.comment for column in columns})


def _live_view(report: Report, query: str) -> View:
    about = about_live(report)
    columns = {name: comment for name, comment in about.columns.items() if name not in report.hidden}
    return View(view_name(report.name), query, about.description, columns)


class _Column(NamedTuple):
    """A column of a view: its expression, name and comment."""

    sql: str
    name: str
    comment: str


def _column(field: pa.Field, engine: Engine) -> _Column:
    """Returns the column for a field of a table; times in ms become timestamps."""
    quoted, comment = engine.quoted(field.name), timestamp_comment(field)
    if comment is None:
        return _Column(quoted, field.name, comment_of(field))
    name = field.name.removesuffix("_ms")
    time = f"CASE WHEN {quoted} BETWEEN {_YEAR_1_MS} AND {rules.LATEST_EVENT_MS} THEN {engine.time(quoted)} END"
    return _Column(f"{time} AS {engine.quoted(name)}", name, comment)


def text_sql(text: str) -> str:
    """Returns a text literal in standard SQL."""
    return "'" + text.replace("'", "''") + "'"


def _spark_text_sql(text: str) -> str:
    """Returns a text literal in Spark's SQL, which does not escape quotes by doubling them."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
