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
from pipeline.event_time.reports import Report
from pipeline.results.layout import stored_reports
from pipeline.results.live_view import live_sql, view_name
from pipeline.tables.dictionary import about_live, comment_of, timestamp_comment
from pipeline.tables.engines import Engine
from pipeline.tables.ledger import Ledger, require_warehouse
from pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, ERASURES, LEDGER, USER_TOTALS, TableSpec, result_of

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
    policies = [how.policy for how in Ledger(warehouse, mends=False).openings().values()]
    reports = stored_reports(sorted({report.name for policy in policies for report in policy.reports}), warehouse)
    specs = (LEDGER, DEAD_LETTERS, CORRECTIONS, ERASURES, *map(result_of, reports), USER_TOTALS)
    made = {spec.name: spec for spec in specs if DeltaTable.is_deltatable(spec.uri(warehouse))}
    corrected = CORRECTIONS.name in made
    return [
        *(_of_table(spec, warehouse, engine) for spec in made.values()),
        *(_live(report, warehouse, engine, corrected=corrected) for report in reports),
    ]


def _of_table(spec: TableSpec, warehouse: str, engine: Engine) -> View:
    # A table that an older version made may lack a column, until a service has opened the warehouse.
    there = {one.name for one in DeltaTable(spec.uri(warehouse)).schema().fields}
    shown = [_shown(field, engine) for field in spec.schema if field.name in there]
    query = f"SELECT {', '.join(sql for sql, _, _ in shown)} FROM {engine.table(spec, warehouse)}"  # noqa: S608 - our own names
    if spec is DEAD_LETTERS:
        query += f" WHERE {c.BATCH} IN (SELECT {c.BATCH} FROM {engine.table(LEDGER, warehouse)})"  # noqa: S608 - likewise
    return View(spec.name, query, spec.about.description, {name: told for _, name, told in shown})


def _live(report: Report, warehouse: str, engine: Engine, *, corrected: bool) -> View:
    about, states = about_live(report), {one.state for one in report.chosen_measures}
    query = live_sql(warehouse, report, engine, corrected=corrected)
    columns = {name: told for name, told in about.columns.items() if name not in states}
    return View(view_name(report.name), query, about.description, columns)


def _shown(field: pa.Field, engine: Engine) -> tuple[str, str, str]:
    """A column as SQL shows it, its name there, and what it says of itself."""
    quoted, told = engine.quoted(field.name), timestamp_comment(field)
    if told is None:
        return quoted, field.name, comment_of(field)
    name = field.name.removesuffix("_ms")
    time = f"CASE WHEN {quoted} BETWEEN {_YEAR_1_MS} AND {rules.LATEST_EVENT_MS} THEN {engine.time(quoted)} END"
    return f"{time} AS {engine.quoted(name)}", name, told


def _text(text: str) -> str:
    """A text as standard SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def _in_spark(text: str) -> str:
    """A text as Spark has it: two quotes would begin another one."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
