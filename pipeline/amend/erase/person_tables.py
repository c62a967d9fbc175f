"""The tables of a warehouse that have persons, and how often one is in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.amend.erase.person import Person
from pipeline.event_time.policy import Consumer
from pipeline.event_time.user_totals import UserTotals
from pipeline.results import layout
from pipeline.tables.ledger import Ledger
from pipeline.tables.query import Row, rows_of
from pipeline.tables.schemas import (
    CORRECTIONS,
    DEAD_LETTERS,
    LEDGER,
    PANES,
    USER_TOTALS,
    TableSpec,
    find_table,
    result_of,
)

_LETTERS: Final = """
SELECT "partition", "offset", key, value, {named} AS named FROM it
WHERE {named} OR (user_id IS NULL AND (encode(key, 'hex') LIKE '%{hex}%' OR encode(value, 'hex') LIKE '%{hex}%'))
"""


@dataclass(frozen=True, slots=True)
class Site:
    """Those of a warehouse."""

    warehouse: str
    personal: Mapping[str, Consumer]
    """What has a row, or rows, for each user; also what is not configured any more."""

    @classmethod
    def of(cls, warehouse: str) -> Self:
        """As its ledger tells."""
        policies = [how.policy for _, how in sorted(Ledger(warehouse, mends=False).openings().items())]
        reports = layout.stored_reports({report.name for one in policies for report in one.reports}, warehouse)
        personal: dict[str, Consumer] = {report.name: report for report in reports if c.USER_ID in report.keys}
        if find_table(USER_TOTALS.name, warehouse):
            personal |= {one.totals.name: one.totals for one in policies if one.totals}
        return cls(warehouse, personal)

    @property
    def specs(self) -> list[TableSpec]:
        """Every table in which a person may be."""
        results = [self.spec(name) for name in self.personal]
        return [spec for spec in (DEAD_LETTERS, PANES, CORRECTIONS, *results) if find_table(spec.name, self.warehouse)]

    def spec(self, name: str) -> TableSpec:
        """That of a result."""
        one = self.personal[name]
        return USER_TOTALS if isinstance(one, UserTotals) else result_of(one)

    @property
    def among_personal(self) -> str:
        """SQL: that a row of panes or corrections is of one of these reports."""
        names = ", ".join(f"'{name}'" for name in self.personal)
        return f"report IN ({names})" if names else "false"

    def found(self, person: Person) -> dict[str, int]:
        """How many rows of each table have the person; none of those that have not."""
        rows = {spec.name: self._rows(spec, person) for spec in self.specs if spec is not DEAD_LETTERS}
        rows[DEAD_LETTERS.name] = len(self.letters(person))
        return {name: number for name, number in rows.items() if number}

    def letters(self, person: Person) -> list[Row]:
        """Rejected records by user, by key, and of those that could not be read any that has the id in its bytes."""
        sql = _LETTERS.format(named=f"({person.acted} OR {person.is_key})", hex=person.id.encode().hex())
        rows = rows_of(sql, it=DeltaTable(DEAD_LETTERS.uri(self.warehouse)))
        return [row for row in rows if row["named"] or person.is_in(row[c.KEY]) or person.is_in(row[c.VALUE])]

    def committed(self) -> int:
        """The newest batch."""
        ledger = DeltaTable(LEDGER.uri(self.warehouse))
        return rows_of("SELECT max(batch) AS newest FROM ledger", ledger=ledger)[0]["newest"] or 0

    def _rows(self, spec: TableSpec, person: Person) -> int:
        sql = f"SELECT count(*) AS rows FROM it WHERE {person.acted}"  # noqa: S608 - ours
        return int(rows_of(sql, it=DeltaTable(spec.uri(self.warehouse)))[0]["rows"])
