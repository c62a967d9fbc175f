"""Erases a user from all tables but panes: dead letters lose user, key and value, corrections and results their rows.

Long operations touch only rows that the service no longer writes, so that they land while it commits.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from deltalake import Transaction

from tidemark.pipeline import columns as c
from tidemark.pipeline.amend.erase.person import Person, anonymous_id
from tidemark.pipeline.amend.erase.person_tables import PersonalTables
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.instants import utc_sql
from tidemark.pipeline.results.result_table import published
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, is_table
from tidemark.pipeline.tables.transactions import ERASED_APP

_AT_ONCE: Final = 1000
_BLANK_SQL: Final = {c.USER_ID: "NULL", c.KEY: "NULL", c.VALUE: "NULL"}
_RETRIES: Final = 20


class _Bound(NamedTuple):
    """A column and a value of it, in SQL."""

    column: str
    value: str


def blank_letters(tables: PersonalTables, person: Person) -> None:
    """Removes user, key and value from dead letters. Position and reason stay, so that the ledger still balances."""
    last, letters = tables.committed(), tables.letters(person)
    unread = [row for row in letters if not row["named"]]
    conditions = [_positions_sql(unread[start : start + _AT_ONCE]) for start in range(0, len(unread), _AT_ONCE)]
    if len(unread) < len(letters):
        conditions.append(f"{person.is_user_sql} OR {person.is_key_sql}")
    for where in conditions:
        update(Handle(DEAD_LETTERS.uri(tables.warehouse)), _BLANK_SQL, f"{c.BATCH} <= {last} AND ({where})")


def update(handle: Handle, values: Mapping[str, str], where: str) -> None:
    """Sets columns to SQL values where a condition holds; may land after commits that do not touch these rows."""
    while not handle.attempt(partial(handle.table.update, dict(values), predicate=where), by=None, retries=_RETRIES):
        pass


def remove_corrections(tables: PersonalTables, person: Person) -> None:
    """Removes the corrections of reports by users, and gives those of other reports to an anonymous id.

    Always commits, so that a concurrent `tidemark correct` notices that its dead letters have changed.
    """
    if not is_table(uri := CORRECTIONS.uri(tables.warehouse)):
        return
    handle, empty = Handle(uri), CORRECTIONS.schema.empty_table()
    while not handle.swap(empty, tables.stored_sql(person), by=None):
        pass
    while rows_of(f"SELECT 1 FROM corrections WHERE {person.is_user_sql} LIMIT 1", corrections=handle.table):  # noqa: S608 - ours
        handle.attempt(
            partial(handle.table.update, {c.USER_ID: f"'{anonymous_id()}'"}, predicate=person.is_user_sql), by=None
        )


def remove_rows(tables: PersonalTables, person: Person) -> None:
    """Removes the user's rows from each report by users; the last commit must land at exactly the next version.

    Publications of older panes or corrections are refused after it.
    """
    for name in tables.personal:
        spec, is_own = tables.spec(name), tables.rows_sql(name, person)
        handle, bound, empty = Handle(spec.uri(tables.warehouse)), _settled(tables, name), spec.schema.empty_table()
        if bound:
            where = f"{bound.column} <= {bound.value} AND {is_own}"
            while not handle.swap(empty, where, by=None, transactions=_erasing(handle), retries=_RETRIES):
                pass
        rest = f"{bound.column} > {bound.value} AND {is_own}" if bound else is_own
        while not handle.swap(empty, rest, by=None, transactions=_erasing(handle)):
            pass


def _erasing(handle: Handle) -> list[Transaction]:
    return [Transaction(ERASED_APP, handle.last(ERASED_APP) + 1), handle.amending()]


def _settled(tables: PersonalTables, name: str) -> _Bound | None:
    """Returns the bound up to which the service no longer writes rows; None if it may write any row."""
    consumer = tables.personal[name]
    if isinstance(consumer, UserTotals):
        return None
    done = published(tables.warehouse, tables.spec(name))
    if not consumer.windows.by_time:
        return _Bound(c.PUBLISHED_BATCH, str(done.batch))
    return _Bound(c.WINDOW_END, utc_sql(done.closed_until)) if done.closed_until > 0 else None


def _positions_sql(letters: Sequence[Row]) -> str:
    offsets = defaultdict[int, list[int]](list)
    for row in letters:
        offsets[row[c.PARTITION]].append(row[c.OFFSET])
    return " OR ".join(
        f'("partition" = {partition} AND "offset" IN ({", ".join(map(str, chosen))}))'
        for partition, chosen in offsets.items()
    )
