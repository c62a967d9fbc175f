"""A person's panes: removed where a report is by users, and with them goes on record how many events that were.

What a report by users has of the person is removed after its panes, so that no publication can bring it back. A run
that is killed in between has counted already, so the panes know of whom, by a hash, until the rows are gone too.
"""

from collections.abc import Mapping
from typing import Final

from deltalake import DeltaTable, Transaction

from pipeline import columns as c
from pipeline.amend.erase.counted_events import events_of, has_one_place
from pipeline.amend.erase.other_tables import update
from pipeline.amend.erase.person import Person, nobody
from pipeline.amend.erase.person_tables import Site
from pipeline.errors import SetUpError
from pipeline.results.retention import removed
from pipeline.tables.handle import Handle
from pipeline.tables.query import Row, rows_of
from pipeline.tables.schemas import CORRECTIONS, LEDGER, PANES, USER_TOTALS, find_table
from pipeline.tables.transactions import CORRECTED_APP, ERASED_EVENTS_APP, ERASING_APP, WRITER_APP

_RETRIES: Final = 5
_SHOWN: Final = """
SELECT CAST(window_start AS BIGINT) / 1000 AS window_start_ms, CAST(window_end AS BIGINT) / 1000 AS window_end_ms, *
FROM it WHERE {person}
"""
_CORRECTED: Final = """
SELECT coalesce(sum(page_views + clicks), 0) AS events FROM it
WHERE report = '{name}' AND correction <= {last} AND window_end_ms > {removed} AND {person}
"""
_COMMITTED: Final = "batch IN (SELECT batch FROM ledger)"


def remove(site: Site, person: Person) -> None:
    """Removes those of committed batches, unless a run that was killed has; raises SetUpError if that was another's."""
    while not _try(site, person):
        pass


def is_pending(site: Site, person: Person) -> bool:
    """Whether a run that was killed has removed the panes of the person, and perhaps not the rows."""
    table = DeltaTable(PANES.uri(site.warehouse))
    return person.is_meant_by(table.transaction_version(ERASING_APP) or 0)


def finish(site: Site) -> None:
    """Forgets of whom it was."""
    handle = Handle(PANES.uri(site.warehouse))
    while not handle.swap(PANES.schema.empty_table(), by=None, transactions=[Transaction(ERASING_APP, 0)]):
        pass


def rename(site: Site, person: Person) -> None:
    """Gives those of other reports, which count sessions of users, to an id of no person: what they count stays."""
    handle = Handle(PANES.uri(site.warehouse))
    where = f"NOT ({site.among_personal}) AND {c.BATCH} <= {site.committed()} AND {person.acted}"
    if rows_of(f"SELECT 1 FROM it WHERE {where} LIMIT 1", it=handle.table):  # noqa: S608 - ours
        update(handle, {c.USER_ID: f"'{nobody()}'"}, where)


def _try(site: Site, person: Person) -> bool:
    """False where somebody wrote what was looked at."""
    results = {name: DeltaTable(site.spec(name).uri(site.warehouse)) for name in site.personal}
    last = site.committed()
    handle = Handle(PANES.uri(site.warehouse))
    table = handle.table
    if any(DeltaTable(one.table_uri).version() != one.version() for one in results.values()):
        return False  # a publication may have moved events from panes to rows while they were looked at
    known = handle.last(ERASING_APP)
    if person.is_meant_by(known):
        return True
    if known:
        raise SetUpError(
            "an erasure was cut off before it was done: run it again for the same person, and then for this one"
        )
    where = f"{site.among_personal} AND {c.BATCH} <= {last} AND {person.acted}"
    events = _events(site, person, results, _committed(table, site, where))
    before = {name: table.transaction_version(f"{ERASED_EVENTS_APP}{name}") or 0 for name in events}
    done = [Transaction(f"{ERASED_EVENTS_APP}{name}", before[name] + number) for name, number in events.items()]
    done.append(Transaction(ERASING_APP, person.reference()))
    return handle.swap(PANES.schema.empty_table(), where, by=None, transactions=done, retries=_RETRIES)


def _committed(table: DeltaTable, site: Site, where: str) -> list[Row]:
    ledger = DeltaTable(LEDGER.uri(site.warehouse))
    return rows_of(f"SELECT * FROM panes WHERE {where} AND {_COMMITTED}", panes=table, ledger=ledger)  # noqa: S608 - ours


def _events(site: Site, person: Person, results: Mapping[str, DeltaTable], panes: list[Row]) -> dict[str, int]:
    """By report the events that it loses, of those that lose any and can tell."""
    found = dict[str, int]()
    for name, consumer in site.personal.items():
        if has_one_place(consumer):
            published = results[name].transaction_version(WRITER_APP) or 0
            mine = [row for row in panes if row[c.REPORT] == name]
            shown = rows_of(_SHOWN.format(person=person.acted), it=results[name]) if name != USER_TOTALS.name else []
            corrected = _corrected(site, person, name, results[name]) if shown else 0
            found[name] = events_of(consumer, shown, mine, published) - corrected
    return {name: number for name, number in found.items() if number}


def _corrected(site: Site, person: Person, name: str, result: DeltaTable) -> int:
    """Of the events in rows those that were added afterwards, which the ledger does not count."""
    table = find_table(CORRECTIONS.name, site.warehouse)
    last = result.transaction_version(CORRECTED_APP) or 0
    sql = _CORRECTED.format(name=name, last=last, removed=removed(result), person=person.acted)
    return int(rows_of(sql, it=table)[0]["events"]) if table else 0
