"""A person in all tables but panes: dead letters lose who it was, corrections and results the rows.

What may take long is done of rows that nobody writes any more, and so lands beside what the service writes meanwhile.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from deltalake import DeltaTable, Transaction, write_deltalake

from pipeline import columns as c
from pipeline.commands.erase.person import Person, nobody
from pipeline.commands.erase.site import Site
from pipeline.event_time.user_totals import UserTotals
from pipeline.tables.query import Row, rows_of
from pipeline.tables.results.result_table import published, utc
from pipeline.tables.schemas import CORRECTED_APP, CORRECTIONS, DEAD_LETTERS, ERASED_APP, TableSpec, find_table
from pipeline.tables.swap import attempt, insist

_AT_ONCE: Final = 1000
_NOTHING: Final = {c.USER_ID: "NULL", c.KEY: "NULL", c.VALUE: "NULL"}
_RETRIES: Final = 20


def blank_letters(site: Site, person: Person) -> None:
    """Takes user, key and value from them: that a record was rejected, where and why, stays, so the books balance."""
    last, letters = site.committed(), site.letters(person)
    unread = [row for row in letters if not row["named"]]
    chosen = [_places(unread[start : start + _AT_ONCE]) for start in range(0, len(unread), _AT_ONCE)]
    if len(unread) < len(letters):
        chosen.append(f"{person.acted} OR {person.is_key}")
    for where in chosen:
        table = DeltaTable(DEAD_LETTERS.uri(site.warehouse))
        beside(table, partial(table.update, _NOTHING, predicate=f"{c.BATCH} <= {last} AND ({where})"))


def beside(table: DeltaTable, act: Callable[..., object]) -> None:
    """Has `act` commit, also after others' commits that do not touch what it read."""
    while not attempt(table, act, marks(table), retries=_RETRIES):
        pass


def marks(table: DeltaTable) -> list[Transaction]:
    """What tells others of an erasure: a number higher than before, and the last correction's own once more.

    Whoever commits a correction meets it, and looks anew at what it adds.
    """
    done = [Transaction(ERASED_APP, (table.transaction_version(ERASED_APP) or 0) + 1)]
    corrected = table.transaction_version(CORRECTED_APP)
    return done if corrected is None else [*done, Transaction(CORRECTED_APP, corrected)]


def remove_corrections(site: Site, person: Person) -> None:
    """Removes those of reports by users, and gives others to nobody.

    There is always a commit, by which a `tidemark correct` at work learns that its dead letters are not what they were.
    """
    table = find_table(CORRECTIONS.name, site.warehouse)
    if table is None:
        return
    insist(table, _removing(table, CORRECTIONS, f"{site.among_personal} AND {person.acted}"))
    if rows_of(f"SELECT 1 FROM it WHERE {person.acted} LIMIT 1", it=table):  # noqa: S608 - ours
        insist(table, partial(table.update, {c.USER_ID: f"'{nobody()}'"}, predicate=person.acted))


def remove_rows(site: Site, person: Person) -> None:
    """Removes the rows of each report by users, the last of them in a commit at exactly the next version.

    What was made of older panes is refused after it.
    """
    for name in site.personal:
        spec = site.spec(name)
        table, bound = DeltaTable(spec.uri(site.warehouse)), _settled(site, name)
        if bound:
            where = f"{bound[0]} <= {bound[1]} AND {person.acted}"
            beside(table, _removing(table, spec, where))
        rest = f"{bound[0]} > {bound[1]} AND {person.acted}" if bound else person.acted
        while not attempt(table, _removing(table, spec, rest), marks(table)):
            pass


def _settled(site: Site, name: str) -> tuple[str, str] | None:
    """A column, and up to which of its values the service writes no row any more; None where it may write all."""
    consumer = site.personal[name]
    if isinstance(consumer, UserTotals):
        return None
    done = published(site.warehouse, site.spec(name))
    if not consumer.windows.by_time:
        return c.PUBLISHED_BATCH, str(done.batch)
    return (c.WINDOW_END, f"'{utc(done.closed_until)}'") if done.closed_until > 0 else None


def _removing(table: DeltaTable, spec: TableSpec, where: str) -> Callable[..., object]:
    return partial(write_deltalake, table, spec.schema.empty_table(), mode="overwrite", predicate=where)


def _places(letters: Sequence[Row]) -> str:
    offsets = defaultdict[int, list[int]](list)
    for row in letters:
        offsets[row[c.PARTITION]].append(row[c.OFFSET])
    return " OR ".join(
        f'("partition" = {number} AND "offset" IN ({", ".join(map(str, some))}))' for number, some in offsets.items()
    )
