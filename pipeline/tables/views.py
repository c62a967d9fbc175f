"""The tables of a warehouse as SQL should show them: every time a timestamp, nothing void, each report's live view.

Tables that the service itself goes by (`ledger`, `dead_letters`, `corrections`) have times as integers; here they are
as in results.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.event_time import rules
from pipeline.event_time.report import Report
from pipeline.tables.dictionary import STATE, as_timestamp, comment_of, is_time_ms, of_live
from pipeline.tables.engines import Engine
from pipeline.tables.layout import stored_reports
from pipeline.tables.ledger import require_warehouse
from pipeline.tables.live import live_sql, view_name
from pipeline.tables.opening import Opening
from pipeline.tables.query import rows_of
from pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, ERASURES, LEDGER, USER_TOTALS, TableSpec, result_of

_OPENINGS: Final = "SELECT DISTINCT opening FROM ledger WHERE opening IS NOT NULL"
_YEAR_1_MS: Final = -62_135_596_800_000
"""An event may claim any time; what lies before this, or after the year 9999, no engine shows."""


@dataclass(frozen=True, slots=True)
class View:
    """A view that an engine can make: its query, and what it says of itself and its columns, which are in order."""

    name: str
    query: str
    comment: str
    columns: Mapping[str, str]

    def statements(self, engine: Engine) -> list[str]:
        """What makes it, with its comments, in the engine's catalog."""
        name = engine.quoted(self.name)  # a report may be called `order`
        if engine is Engine.SPARK:
            told = ", ".join(
                f"{engine.quoted(column)} COMMENT {_in_spark(text)}" for column, text in self.columns.items()
            )
            return [f"CREATE OR REPLACE VIEW {name} ({told}) COMMENT {_in_spark(self.comment)} AS {self.query}"]
        return [
            f"CREATE OR REPLACE VIEW {name} AS {self.query}",
            f"COMMENT ON VIEW {name} IS {_text(self.comment)}",
            *(
                f"COMMENT ON COLUMN {name}.{engine.quoted(column)} IS {_text(text)}"
                for column, text in self.columns.items()
            ),
        ]


def views(warehouse: str, engine: Engine) -> list[View]:
    """A view of each table that there is for readers, and of each report the live view. Changes nothing.

    Raises SetUpError where there is no warehouse.
    """
    require_warehouse(warehouse)
    reports = _reports(warehouse)
    specs = (LEDGER, DEAD_LETTERS, CORRECTIONS, ERASURES, *map(result_of, reports), USER_TOTALS)
    made = {spec.name: spec for spec in specs if DeltaTable.is_deltatable(spec.uri(warehouse))}
    corrected = CORRECTIONS.name in made
    return [
        *(_of_table(spec, warehouse, engine) for spec in made.values()),
        *(_live(report, warehouse, engine, corrected=corrected) for report in reports),
    ]


def _reports(warehouse: str) -> list[Report]:
    """Every report that some epoch had, and whose table is there."""
    openings = rows_of(_OPENINGS, ledger=DeltaTable(LEDGER.uri(warehouse)))
    policies = [Opening.from_text(row["opening"]).policy for row in openings]
    return stored_reports(sorted({report.name for policy in policies for report in policy.reports}), warehouse)


def _of_table(spec: TableSpec, warehouse: str, engine: Engine) -> View:
    # A table that an older version made may lack a column, until a service has opened the warehouse.
    there = {one.name for one in DeltaTable(spec.uri(warehouse)).schema().fields}
    fields = [field for field in spec.schema if field.name in there]
    told = ", ".join(_column(field, engine) for field in fields)
    query = f"SELECT {told} FROM {engine.table(spec, warehouse)}"  # noqa: S608 - our own names
    if spec is DEAD_LETTERS:
        query += f" WHERE {c.BATCH} IN (SELECT {c.BATCH} FROM {engine.table(LEDGER, warehouse)})"  # noqa: S608 - likewise
    return View(spec.name, query, spec.about.description, {_name(field): _comment(field) for field in fields})


def _live(report: Report, warehouse: str, engine: Engine, *, corrected: bool) -> View:
    about, spec = of_live(report), result_of(report)
    states = {one.state for one in report.tells}
    shown = [name for name in spec.schema.names if name not in states]
    query = live_sql(warehouse, report, engine, corrected=corrected)
    columns = {name: about.columns[name] for name in (*shown, STATE)}
    return View(view_name(report.name), query, about.description, columns)


def _column(field: pa.Field, engine: Engine) -> str:
    name = engine.quoted(field.name)
    if not is_time_ms(field):
        return name
    shown = f"CASE WHEN {name} BETWEEN {_YEAR_1_MS} AND {rules.LATEST_EVENT_MS} THEN {engine.time(name)} END"
    return f"{shown} AS {engine.quoted(_name(field))}"


def _name(field: pa.Field) -> str:
    return field.name.removesuffix("_ms") if is_time_ms(field) else str(field.name)


def _comment(field: pa.Field) -> str:
    return as_timestamp(comment_of(field)) if is_time_ms(field) else comment_of(field)


def _text(text: str) -> str:
    """A text as standard SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def _in_spark(text: str) -> str:
    """A text as Spark has it: two quotes would begin another one."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
