"""The published results: the batch up to which each table is published, and what had fired and closed by then."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.dimensions import Type
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.tables.opening import report_from_json
from tidemark.pipeline.tables.schemas import CORRECTIONS, PANES
from tidemark.pipeline.tables.transactions import CORRECTED_APP
from tidemark.pipeline.verifier.verification import Row, time_text
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot, sql_name

_STORED_AS: Final = "tidemark.report"
_SQL_TYPES: Final = {Type.TEXT: "STRING", Type.INTEGER: "BIGINT", Type.BOOLEAN: "BOOLEAN", Type.DATE: "DATE"}
_COUNTS_SQL: Final = "page_views + clicks"
_COUNTS: Final = (c.PAGE_VIEWS, c.CLICKS, c.EVENTS, c.SESSIONS_BEGUN)
# Rows of older versions have no number of events, and only visits and clicks.
_PANE_EVENTS_SQL: Final = f"coalesce(events, {_COUNTS_SQL})"


@dataclass(frozen=True, slots=True)
class PublishedResult:
    """A result table; times in milliseconds."""

    name: str
    batch: int
    """The batch up to which it is published."""
    watermark: int
    """The watermark after this batch."""
    highest: int
    """The highest watermark up to this batch: windows that had fired before a reset stay."""
    closed: int
    """Windows that end at or before it are closed, as of the newest batch."""
    swept: int
    """The table's `closed` mark: only windows that end at or before it may have lost panes to compaction."""
    removed: int
    """Windows that end at or before it were removed by age; 0 for no window."""
    corrected: int
    """The last correction that was added to it."""
    is_configured: bool
    """Whether the newest epoch has it."""
    epochs: tuple[int, ...]
    """The epochs that have it; empty if it was not configured all the time since the first of them."""
    pane_events_sql: str = field(default=_PANE_EVENTS_SQL, kw_only=True)
    """SQL of the number of events in a row of panes."""
    has_other_kinds: bool = field(default=False, kw_only=True)
    """Whether other events than visits and clicks may be in its rows."""

    @property
    def typed_keys_sql(self) -> str:
        """SQL of the dimensions under their names, over `panes` or `corrections`: each after a comma."""
        return ""

    @property
    def table(self) -> str:
        """The table's name in SQL."""
        return sql_name(self.name)


@dataclass(frozen=True, slots=True)
class PublishedReport(PublishedResult):
    """The table of a report."""

    report: Report

    @property
    def typed_keys_sql(self) -> str:
        """SQL of the dimensions under their names, over `panes` or `corrections`: each after a comma."""
        return "".join(
            f", CAST(dimension_{number} AS {_SQL_TYPES[dimension.type]}) AS {self.each(dimension.name)}"
            for number, dimension in enumerate(self.report.dimensions, 1)
        )

    def each(self, key: str) -> str:
        """Returns the column with every value of a key, which has another name if rows have only its largest values."""
        return f"_each_{key}" if key in self.flags else key

    @property
    def flags(self) -> dict[str, str]:
        """By dimension with a `top`, the column that is 1 in the rows of all other values and else 0."""
        return {dimension.name: f"_{dimension.name}_is_other" for dimension in self.report.limited}

    @property
    def table(self) -> str:
        """The table's name in SQL, or a subquery with its rows and their flags."""
        name = sql_name(self.name)
        flags = (f"CASE WHEN {key}_others = 0 THEN 0 ELSE 1 END AS {flag}" for key, flag in self.flags.items())
        return f"(SELECT *, {', '.join(flags)} FROM {name}) AS {name}" if self.flags else name

    @property
    def cell(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return ("start_ms", "end_ms", *self.report.keys, *self.flags.values())

    @property
    def sums(self) -> list[str]:
        """The columns that are sums, without those of fields."""
        return [*self.counts, c.LATE_EVENTS]

    @property
    def counts(self) -> list[str]:
        """The columns that count events or sessions, without those of fields."""
        measures = {*self.report.measures}
        stored = {c.PAGE_VIEWS, c.CLICKS} if c.BOUNCED in measures else set()
        return [name for name in _COUNTS if name in measures | stored]

    @property
    def events_sql(self) -> str:
        """SQL of the number of events in a row of the table; empty without measures that count all of them."""
        if c.EVENTS in self.report.measures:
            return c.EVENTS
        has_counts = {*self.report.measures} >= {c.PAGE_VIEWS, c.CLICKS}
        return _COUNTS_SQL if has_counts and not self.has_other_kinds else ""

    @property
    def corrected_events_sql(self) -> str:
        """SQL of the number that a correction adds to `events_sql`."""
        return "event_count" if c.EVENTS in self.report.measures else _COUNTS_SQL

    def place_of(self, row: Row) -> str:
        """Returns how a sentence on a row starts: the table, the window, and those of the keys that the row has."""
        keys = ", ".join(
            f"all other values of {key}" if row.get(self.flags.get(key, "")) else f"{key} {row[key]!r}"
            for key in self.report.keys
            if key in row
        )
        window = f"{self.name}: window [{time_text(row['start_ms'])}, {time_text(row['end_ms'])})"
        return f"{window} of {keys}" if keys else window

    @property
    def is_whole_sql(self) -> str:
        """SQL condition: the window may still change, so it has lost no panes to compaction."""
        return f"end_ms > {self.swept}"

    def difference(self, row: Row) -> str:
        """Returns the sentence on a cell whose actual and expected sums differ."""
        where, expected = self.place_of(row), ", ".join(f"{row[f'expected_{name}']} {name}" for name in self.sums)
        if not row["actual_rows"]:
            return f"{where} is not shown, but its panes and corrections have {expected}"
        if not row["expected_rows"]:
            actual = ", ".join(f"{row[f'actual_{name}']} {name}" for name in self.sums)
            return f"{where} shows {actual}, but its panes and corrections have 0 of it"
        different = [name for name in self.sums if row[f"actual_{name}"] != row[f"expected_{name}"]]
        return f"{where} shows " + " and ".join(
            f"{row[f'actual_{name}']} {name}, but its panes and corrections have {row[f'expected_{name}']}"
            for name in different
        )


@dataclass(frozen=True, slots=True)
class PublishedTotals(PublishedResult):
    """The table of the users' totals."""

    totals: UserTotals


AnyResult = PublishedReport | PublishedTotals


def published_results(tables: WarehouseSnapshot) -> list[AnyResult]:
    """Returns every result whose table can be read: reports, then the totals."""
    names = dict.fromkeys(report.name for opening in tables.openings.values() for report in opening.policy.reports)
    results: list[AnyResult] = [
        PublishedReport(**_state(name, tables), report=definition(name, tables))
        for name in names
        if name in tables.handles
    ]
    if UserTotals.name in tables.handles:
        totals = UserTotals(**_stored(UserTotals.name, tables))
        results.append(PublishedTotals(**_state(totals.name, tables), totals=totals))
    return results


def definition(name: str, tables: WarehouseSnapshot) -> Report:
    """Returns the report that a result table stores. Raises ValueError, KeyError or TypeError without a report."""
    return report_from_json({**_stored(name, tables), "name": name})


def _stored(name: str, tables: WarehouseSnapshot) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(tables.handles[name].metadata().configuration[_STORED_AS])
    return stored


def _state(name: str, tables: WarehouseSnapshot) -> dict[str, Any]:
    batch = tables.published(name)
    reached = tables.ask(
        f"SELECT max(watermark) AS highest, max(CASE WHEN batch = {batch} THEN watermark END) AS watermark "
        f"FROM ledger WHERE batch <= {batch}"
    ).to_pylist()[0]
    epochs = sorted(tables.openings)
    having = [epoch for epoch in epochs if name in {each.name for each in tables.openings[epoch].policy.consumers}]
    return {
        "name": name,
        "batch": batch,
        "watermark": rules.as_number(reached["watermark"]),
        "highest": rules.as_number(reached["highest"]),
        "closed": _closed(name, tables),
        "swept": tables.swept(name),
        "removed": tables.removed_until(name),
        "corrected": tables.version(name, CORRECTED_APP) or 0,
        "pane_events_sql": _PANE_EVENTS_SQL if c.EVENTS in tables.columns(PANES.name) else _COUNTS_SQL,
        "has_other_kinds": _has_other_kinds(tables),
        "is_configured": having[-1:] == epochs[-1:],
        "epochs": tuple(having) if having == epochs[len(epochs) - len(having) :] else (),
    }


def _has_other_kinds(tables: WarehouseSnapshot) -> bool:
    """Returns whether other events than visits and clicks may count; corrections may be of kinds of a later epoch."""
    if any(opening.policy.has_other_kinds for opening in tables.openings.values()):
        return True
    others = f"SELECT count(*) FROM {CORRECTIONS.name} WHERE {_COUNTS_SQL} = 0"
    return CORRECTIONS.name in tables.handles and tables.scalar(others) > 0


def _closed(name: str, tables: WarehouseSnapshot) -> int:
    """Returns the latest end up to which any epoch closed windows of a report, or found them closed."""
    closed = [rules.NO_WATERMARK]
    for row in tables.ask("SELECT epoch, max(watermark) AS highest FROM ledger GROUP BY epoch").to_pylist():
        opening = tables.openings.get(row["epoch"])
        if opening and (report := opening.report(name)):
            reached = rules.as_number(row["highest"]) - report.allowed_lateness_ms
            closed += [reached, opening.closed.get(name, rules.NO_WATERMARK)]
    return max(closed)
