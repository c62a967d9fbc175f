"""A person in all tables but panes: dead letters lose who it was, corrections and results the rows."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Final

from deltalake import DeltaTable, Transaction

from pipeline import columns as c
from pipeline.commands.erase.person import Person, nobody
from pipeline.commands.erase.site import Site
from pipeline.tables.corrections import APP as CORRECTED_APP
from pipeline.tables.query import Row, rows_of
from pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, ERASED_APP, TableSpec
from pipeline.tables.swap import insist, swap

_AT_ONCE: Final = 1000
_NOTHING: Final = {c.USER_ID: "NULL", c.KEY: "NULL", c.VALUE: "NULL"}


def blank_letters(site: Site, person: Person) -> None:
    """Takes user, key and value from them: that a record was rejected, where and why, stays, so the books balance."""
    letters = site.letters(person)
    unread = [row for row in letters if not row["named"]]
    chosen = [_places(unread[start : start + _AT_ONCE]) for start in range(0, len(unread), _AT_ONCE)]
    if len(unread) < len(letters):
        chosen.append(f"{person.acted} OR {person.is_key}")
    for where in chosen:
        table = DeltaTable(DEAD_LETTERS.uri(site.warehouse))
        insist(table, partial(table.update, _NOTHING, predicate=where))


def _places(letters: Sequence[Row]) -> str:
    offsets = defaultdict[int, list[int]](list)
    for row in letters:
        offsets[row[c.PARTITION]].append(row[c.OFFSET])
    return " OR ".join(
        f'("partition" = {number} AND "offset" IN ({", ".join(map(str, some))}))' for number, some in offsets.items()
    )


def remove_corrections(site: Site, person: Person) -> None:
    """Removes those of reports by users, and gives others to nobody.

    There is always a commit, by which a `tidemark correct` at work learns that its dead letters are not what they were.
    """
    table = site.find(CORRECTIONS)
    if table is None:
        return
    _remove(table, CORRECTIONS, f"{site.among_personal} AND {person.acted}", ())
    if rows_of(f"SELECT 1 FROM it WHERE {person.acted} LIMIT 1", it=table):  # noqa: S608 - ours
        insist(table, partial(table.update, {c.USER_ID: f"'{nobody()}'"}, predicate=person.acted))


def remove_rows(site: Site, person: Person) -> None:
    """Removes the rows of each report by users, in a commit behind which nothing lands that was made before."""
    for name in site.personal:
        spec = site.spec(name)
        _remove(DeltaTable(spec.uri(site.warehouse)), spec, person.acted, (ERASED_APP, CORRECTED_APP))


def _remove(table: DeltaTable, spec: TableSpec, where: str, apps: Sequence[str]) -> None:
    removed = False
    while not removed:
        versions = {app: table.transaction_version(app) for app in apps}
        done = [Transaction(ERASED_APP, (versions[ERASED_APP] or 0) + 1)] if apps else []
        if (corrected := versions.get(CORRECTED_APP)) is not None:
            # The same again, so that a correction meets it and looks anew at what it adds.
            done.append(Transaction(CORRECTED_APP, corrected))
        removed = swap(table, spec.schema.empty_table(), where, done)
