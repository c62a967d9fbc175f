"""Each result as its table has it: how far it is published, and what has fired and closed by then."""

import json
from dataclasses import dataclass
from typing import Any, Final

from pipeline import columns as c
from pipeline.event_time import rules
from pipeline.event_time.reports import Report
from pipeline.event_time.user_totals import UserTotals
from pipeline.tables.opening import report_from_json
from pipeline.tables.transactions import CORRECTED_APP
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot, name_of
from pipeline.verifier.wording import Row, moment

_STORED_AS: Final = "tidemark.report"


@dataclass(frozen=True, slots=True)
class Result:
    """A result table; times in milliseconds."""

    name: str
    published: int
    """The batch up to which it is published."""
    watermark: int
    """The watermark after that batch."""
    highest: int
    """The highest one up to that batch: where an epoch began with a lower one, what had fired stays."""
    closed: int
    """Windows that end no later are closed, as of the newest batch."""
    swept: int
    """Windows that end no later are final by the table's own word: these alone may lack some of their panes."""
    removed: int
    """Windows that end no later were removed by age; 0 for none."""
    corrected: int
    """The last correction that it has."""
    is_kept: bool
    """Whether the newest epoch still has it."""
    epochs: tuple[int, ...]
    """The epochs that have it, if from its first one on it was never left out."""

    @property
    def table(self) -> str:
        """The table in SQL."""
        return name_of(self.name)


@dataclass(frozen=True, slots=True)
class Shown(Result):
    """That of a report."""

    report: Report

    @property
    def cell(self) -> tuple[str, ...]:
        """The columns that tell rows apart."""
        return ("start_ms", "end_ms", *self.report.keys)

    @property
    def numbers(self) -> list[str]:
        """The columns that are sums."""
        return [*self.report.sums, c.LATE_EVENTS]

    def at(self, row: Row) -> str:
        """How a sentence on a row begins: with the table and the place in it."""
        return f"{self.name}: {self.place(row)}"

    def place(self, row: Row) -> str:
        """The window of a row, and those keys that it has."""
        keys = ", ".join(f"{key} {row[key]!r}" for key in self.report.keys if key in row)
        window = f"window [{moment(row['start_ms'])}, {moment(row['end_ms'])})"
        return f"{window} of {keys}" if keys else window


@dataclass(frozen=True, slots=True)
class ShownTotals(Result):
    """That of the totals."""

    totals: UserTotals


def shown_results(tables: WarehouseSnapshot) -> list[Shown | ShownTotals]:
    """Every result whose table can be read: reports, then the totals."""
    names = dict.fromkeys(report.name for one in tables.openings.values() for report in one.policy.reports)
    found: list[Shown | ShownTotals] = [
        Shown(**_result(name, tables), report=definition(name, tables)) for name in names if name in tables.handles
    ]
    if UserTotals.name in tables.handles:
        totals = UserTotals(**_stored(UserTotals.name, tables))
        found.append(ShownTotals(**_result(totals.name, tables), totals=totals))
    return found


def definition(name: str, tables: WarehouseSnapshot) -> Report:
    """The report of a result table. Raises ValueError, KeyError or TypeError where it does not say so."""
    return report_from_json({**_stored(name, tables), "name": name})


def _stored(name: str, tables: WarehouseSnapshot) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(tables.handles[name].metadata().configuration[_STORED_AS])
    return stored


def _result(name: str, tables: WarehouseSnapshot) -> dict[str, Any]:
    published = tables.published(name)
    reached = tables.ask(
        f"SELECT max(watermark) AS highest, max(CASE WHEN batch = {published} THEN watermark END) AS watermark "
        f"FROM ledger WHERE batch <= {published}"
    ).to_pylist()[0]
    epochs = sorted(tables.openings)
    having = [epoch for epoch in epochs if name in {one.name for one in tables.openings[epoch].policy.consumers}]
    return {
        "name": name,
        "published": published,
        "watermark": rules.as_number(reached["watermark"]),
        "highest": rules.as_number(reached["highest"]),
        "closed": _closed(name, tables),
        "swept": tables.swept(name),
        "removed": tables.removed(name),
        "corrected": tables.version(name, CORRECTED_APP) or 0,
        "is_kept": having[-1:] == epochs[-1:],
        "epochs": tuple(having) if having == epochs[len(epochs) - len(having) :] else (),
    }


def _closed(name: str, tables: WarehouseSnapshot) -> int:
    """Up to which end some epoch has closed windows of a report, or found them closed."""
    closed = [rules.NO_WATERMARK]
    for row in tables.ask("SELECT epoch, max(watermark) AS highest FROM ledger GROUP BY epoch").to_pylist():
        opening = tables.openings.get(row["epoch"])
        if opening and (report := opening.report(name)):
            reached = rules.as_number(row["highest"]) - report.allowed_lateness_ms
            closed += [reached, opening.closed.get(name, rules.NO_WATERMARK)]
    return max(closed)
