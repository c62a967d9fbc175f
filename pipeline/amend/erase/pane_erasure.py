"""Removes a user's panes of reports by users, and records in the same commit how many events they were.

The rows of these reports are removed after the panes, so that no publication can restore them. Until then the panes
store a hash of the user, so that a run that follows a killed run does not count the events again.
"""

from collections.abc import Mapping
from typing import Final

from deltalake import DeltaTable, Transaction

from tidemark.pipeline import columns as c
from tidemark.pipeline.amend.erase.counted_events import count_events, counts_all_once
from tidemark.pipeline.amend.erase.other_tables import update
from tidemark.pipeline.amend.erase.person import Person, anonymous_id
from tidemark.pipeline.amend.erase.person_tables import PersonalTables
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.results.retention import removed_until
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import CORRECTIONS, LEDGER, PANES, USER_TOTALS, find_table
from tidemark.pipeline.tables.transactions import CORRECTED_APP, ERASED_EVENTS_APP, ERASING_APP, PUBLISHED_APP

_RETRIES: Final = 5
_ROWS_OF_USER_SQL: Final = """
SELECT CAST(window_start AS BIGINT) / 1000 AS window_start_ms, CAST(window_end AS BIGINT) / 1000 AS window_end_ms, *
FROM result WHERE {person}
"""
_CORRECTED_SQL: Final = """
SELECT coalesce(sum({event}), 0) AS events FROM corrections
WHERE report = '{name}' AND correction <= {last} AND window_end_ms > {removed} AND {person}
"""
_COMMITTED_SQL: Final = "batch IN (SELECT batch FROM ledger)"


def remove(tables: PersonalTables, person: Person) -> None:
    """Removes the panes of committed batches, unless a run that was killed has removed them.

    Raises SetUpError if the run that was killed was for another user.
    """
    while not _try_remove(tables, person):
        pass


def is_pending(tables: PersonalTables, person: Person) -> bool:
    """Returns whether a run that was killed has removed the panes of the user, and may have left the rows."""
    table = DeltaTable(PANES.uri(tables.warehouse))
    return person.is_meant_by(table.transaction_version(ERASING_APP) or 0)


def finish(tables: PersonalTables, person: Person) -> None:
    """Removes the hash of the user, unless another run has, and one for another user may have begun since."""
    handle, done = Handle(PANES.uri(tables.warehouse)), [Transaction(ERASING_APP, 0)]
    while person.is_meant_by(handle.last(ERASING_APP)):
        if handle.swap(PANES.schema.empty_table(), by=None, transactions=done):
            return


def rename(tables: PersonalTables, person: Person) -> None:
    """Gives the panes of other reports, which count sessions of users, to an anonymous id: their counts stay."""
    handle = Handle(PANES.uri(tables.warehouse))
    where = f"{tables.is_other_sql} AND {c.BATCH} <= {tables.committed()} AND {person.is_user_sql}"
    if rows_of(f"SELECT 1 FROM panes WHERE {where} LIMIT 1", panes=handle.table):  # noqa: S608 - ours
        update(handle, {c.USER_ID: f"'{anonymous_id()}'"}, where)


def _try_remove(tables: PersonalTables, person: Person) -> bool:
    """Returns False if a result or the panes have changed since they were read."""
    results = {name: DeltaTable(tables.spec(name).uri(tables.warehouse)) for name in tables.personal}
    last = tables.committed()
    handle = Handle(PANES.uri(tables.warehouse))
    table = handle.table
    if any(DeltaTable(result.table_uri).version() != result.version() for result in results.values()):
        return False  # a publication may have moved events from panes to rows meanwhile
    pending = handle.last(ERASING_APP)
    if person.is_meant_by(pending):
        return True
    if pending:
        raise SetUpError(
            "another erasure is running or was interrupted: wait for it, or run it again for the same person, and then "
            "for this person"
        )
    where = f"{tables.stored_sql(person)} AND {c.BATCH} <= {last}"
    events = _events(tables, person, results, _committed(table, tables, where))
    before = {name: table.transaction_version(f"{ERASED_EVENTS_APP}{name}") or 0 for name in events}
    done = [Transaction(f"{ERASED_EVENTS_APP}{name}", before[name] + count) for name, count in events.items()]
    done.append(Transaction(ERASING_APP, person.reference()))
    return handle.swap(PANES.schema.empty_table(), where, by=None, transactions=done, retries=_RETRIES)


def _committed(table: DeltaTable, tables: PersonalTables, where: str) -> list[Row]:
    ledger = DeltaTable(LEDGER.uri(tables.warehouse))
    return rows_of(f"SELECT * FROM panes WHERE {where} AND {_COMMITTED_SQL}", panes=table, ledger=ledger)  # noqa: S608 - ours


def _events(
    tables: PersonalTables, person: Person, results: Mapping[str, DeltaTable], panes: list[Row]
) -> dict[str, int]:
    """Returns by report the number of events that it loses, for reports that count all events and lose some."""
    counts = dict[str, int]()
    for name, consumer in tables.personal.items():
        if counts_all_once(consumer, has_other_kinds=tables.has_other_kinds):
            published = results[name].transaction_version(PUBLISHED_APP) or 0
            own = [row for row in panes if row[c.REPORT] == name]
            rows = (
                rows_of(_ROWS_OF_USER_SQL.format(person=tables.rows_sql(name, person)), result=results[name])
                if name != USER_TOTALS.name
                else []
            )
            corrected = _corrected(tables, person, name, results[name]) if rows else 0
            counts[name] = count_events(consumer, rows, own, published) - corrected
    return {name: count for name, count in counts.items() if count}


def _corrected(tables: PersonalTables, person: Person, name: str, result: DeltaTable) -> int:
    """Returns the number of events in a report's rows that are corrections, which the ledger does not count."""
    table = find_table(CORRECTIONS.name, tables.warehouse)
    last = result.transaction_version(CORRECTED_APP) or 0
    # A row counts a correction as it counts other events: as an event, or as a visit or a click.
    event = "1" if c.EVENTS in {field.name for field in result.schema().fields} else "page_views + clicks"
    of_rows = {"event": event, "name": name, "last": last, "removed": removed_until(result)}
    sql = _CORRECTED_SQL.format(**of_rows, person=tables.stored_sql(person))
    return int(rows_of(sql, corrections=table)[0]["events"]) if table else 0
