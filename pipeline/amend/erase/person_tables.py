"""The tables of a warehouse that contain user ids, and the rows of a user in them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.amend.erase.person import Person
from tidemark.pipeline.event_time.dimensions import STORED
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.results import layout
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import (
    CORRECTIONS,
    DEAD_LETTERS,
    LEDGER,
    PANES,
    USER_TOTALS,
    TableSpec,
    find_table,
    result_of,
)

_LETTERS_SQL: Final = """
SELECT "partition", "offset", key, value, {named} AS named FROM dead_letters
WHERE {named} OR ({unread} AND (encode(key, 'hex') LIKE '%{hex}%' OR encode(value, 'hex') LIKE '%{hex}%'))
"""


@dataclass(frozen=True, slots=True)
class PersonalTables:
    """The tables of a warehouse that contain user ids."""

    warehouse: str
    personal: Mapping[str, Consumer]
    """The reports by people and the totals, by name, also those that are no longer configured: their keys have users,
    or dimensions that are personal."""
    others: frozenset[str]
    """The names of reports without users as a key."""
    has_other_kinds: bool
    """Whether other events than visits and clicks may have been counted."""

    @classmethod
    def of(cls, warehouse: str) -> Self:
        """Returns the tables of all reports that the ledger of a warehouse has; a start may add reports meanwhile."""
        policies = [opening.policy for _, opening in sorted(Ledger(warehouse, mends=False).openings().items())]
        reports = layout.stored_reports({report.name for policy in policies for report in policy.reports}, warehouse)
        personal: dict[str, Consumer] = {report.name: report for report in reports if _columns(report)}
        if find_table(USER_TOTALS.name, warehouse):
            personal |= {policy.totals.name: policy.totals for policy in policies if policy.totals}
        others = frozenset(report.name for report in reports if c.USER_ID not in report.keys)
        return cls(warehouse, personal, others, any(policy.has_other_kinds for policy in policies))

    @property
    def specs(self) -> list[TableSpec]:
        """Every table that may contain a user id."""
        results = [self.spec(name) for name in self.personal]
        return [spec for spec in (DEAD_LETTERS, PANES, CORRECTIONS, *results) if find_table(spec.name, self.warehouse)]

    def spec(self, name: str) -> TableSpec:
        """Returns the table of a report or of the totals."""
        consumer = self.personal[name]
        return USER_TOTALS if isinstance(consumer, UserTotals) else result_of(consumer)

    def stored_sql(self, person: Person) -> str:
        """SQL condition: the row of panes or corrections is of one of the reports by people, and of this person."""
        names = defaultdict[tuple[str, ...], list[str]](list)
        for name, consumer in self.personal.items():
            names[_stored_columns(consumer)].append(name)
        own = (f"({_is_of(reports)} AND {person.has_sql(*columns)})" for columns, reports in sorted(names.items()))
        return f"({' OR '.join(own)})" if names else "false"

    def rows_sql(self, name: str, person: Person) -> str:
        """SQL condition: the row of the table of a report by people, or of the totals, is of this person."""
        return person.has_sql(*_columns(self.personal[name]))

    def columns(self, spec: TableSpec) -> tuple[str, ...]:
        """Returns the columns of a table that may have ids of people, also of records."""
        if spec.name in self.personal:
            return _columns(self.personal[spec.name])
        return (c.USER_ID, c.KEY, c.VALUE, *STORED)

    @property
    def is_other_sql(self) -> str:
        """SQL condition: the row of panes is of one of the other reports."""
        return _is_of(self.others)

    def row_counts(self, person: Person) -> dict[str, int]:
        """Returns the number of a user's rows by table, without tables that have no row."""
        rows = {spec.name: self._row_count(spec, person) for spec in self.specs if spec is not DEAD_LETTERS}
        rows[DEAD_LETTERS.name] = len(self.letters(person))
        return {name: count for name, count in rows.items() if count}

    def letters(self, person: Person) -> list[Row]:
        """Returns the dead letters whose user or key is this user, and unreadable ones whose bytes contain the id.

        With personal dimensions other letters may have the id in a field, too.
        """
        named = f"({person.is_user_sql} OR {person.is_key_sql})"
        unread = "true" if self._has_dimensions else "user_id IS NULL"
        sql = _LETTERS_SQL.format(named=named, unread=unread, hex=person.id.encode().hex())
        rows = rows_of(sql, dead_letters=DeltaTable(DEAD_LETTERS.uri(self.warehouse)))
        return [row for row in rows if row["named"] or person.is_in(row[c.KEY]) or person.is_in(row[c.VALUE])]

    @property
    def _has_dimensions(self) -> bool:
        """Whether a report has a personal dimension."""
        return any({*_columns(consumer)} - {c.USER_ID} for consumer in self.personal.values())

    def committed(self) -> int:
        """Returns the newest batch of the ledger."""
        ledger = DeltaTable(LEDGER.uri(self.warehouse))
        return rows_of("SELECT max(batch) AS newest FROM ledger", ledger=ledger)[0]["newest"] or 0

    def _row_count(self, spec: TableSpec, person: Person) -> int:
        is_own = self.rows_sql(spec.name, person) if spec.name in self.personal else self._any_sql(person)
        sql = f"SELECT count(*) AS rows FROM personal WHERE {is_own}"  # noqa: S608 - ours
        return int(rows_of(sql, personal=DeltaTable(spec.uri(self.warehouse)))[0]["rows"])

    def _any_sql(self, person: Person) -> str:
        """SQL condition: the row of panes or corrections has the person in a column."""
        return f"({person.is_user_sql} OR {self.stored_sql(person)})"


def _columns(consumer: Consumer) -> tuple[str, ...]:
    """Returns the keys of a report, or of totals, that are ids of people."""
    if isinstance(consumer, UserTotals):
        return (c.USER_ID,)
    dimensions = [dimension.name for dimension in consumer.dimensions if dimension.personal]
    return (*([c.USER_ID] if c.USER_ID in consumer.keys else []), *dimensions)


def _stored_columns(consumer: Consumer) -> tuple[str, ...]:
    """Returns the columns of panes and corrections with these keys."""
    return tuple(map(consumer.stored, _columns(consumer)))


def _is_of(reports: Iterable[str]) -> str:
    names = ", ".join(f"'{name}'" for name in sorted(reports))
    return f"report IN ({names})" if names else "false"
