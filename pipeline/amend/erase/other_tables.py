"""A person in all tables but panes: dead letters lose who it was, corrections and results the rows.

What may take long is done of rows that nobody writes any more, and so lands beside what the service writes meanwhile.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from deltalake import Transaction

from pipeline import columns as c
from pipeline.amend.erase.person import Person, nobody
from pipeline.amend.erase.person_tables import Site
from pipeline.event_time.user_totals import UserTotals
from pipeline.instants import utc
from pipeline.results.result_table import published
from pipeline.tables.handle import Handle
from pipeline.tables.query import Row, rows_of
from pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, is_table
from pipeline.tables.transactions import ERASED_APP

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
        update(Handle(DEAD_LETTERS.uri(site.warehouse)), _NOTHING, f"{c.BATCH} <= {last} AND ({where})")


def update(handle: Handle, values: Mapping[str, str], where: str) -> None:
    """Sets columns to SQL values where a condition holds, after other commits that do not touch the rows, too."""
    while not handle.attempt(partial(handle.table.update, dict(values), predicate=where), by=None, retries=_RETRIES):
        pass


def remove_corrections(site: Site, person: Person) -> None:
    """Removes those of reports by users, and gives others to an id of no person.

    There is always a commit, by which a `tidemark correct` at work learns that its dead letters are not what they were.
    """
    if not is_table(uri := CORRECTIONS.uri(site.warehouse)):
        return
    handle, nothing = Handle(uri), CORRECTIONS.schema.empty_table()
    while not handle.swap(nothing, f"{site.among_personal} AND {person.acted}", by=None):
        pass
    while rows_of(f"SELECT 1 FROM it WHERE {person.acted} LIMIT 1", it=handle.table):  # noqa: S608 - ours
        handle.attempt(partial(handle.table.update, {c.USER_ID: f"'{nobody()}'"}, predicate=person.acted), by=None)


def remove_rows(site: Site, person: Person) -> None:
    """Removes the rows of each report by users, the last of them in a commit at exactly the next version.

    What was made of older panes or corrections is refused after it.
    """
    for name in site.personal:
        spec = site.spec(name)
        handle, bound, nothing = Handle(spec.uri(site.warehouse)), _settled(site, name), spec.schema.empty_table()
        if bound:
            where = f"{bound[0]} <= {bound[1]} AND {person.acted}"
            while not handle.swap(nothing, where, by=None, transactions=_erasing(handle), retries=_RETRIES):
                pass
        rest = f"{bound[0]} > {bound[1]} AND {person.acted}" if bound else person.acted
        while not handle.swap(nothing, rest, by=None, transactions=_erasing(handle)):
            pass


def _erasing(handle: Handle) -> list[Transaction]:
    return [Transaction(ERASED_APP, handle.last(ERASED_APP) + 1), handle.amending()]


def _settled(site: Site, name: str) -> tuple[str, str] | None:
    """A column, and up to which of its values the service writes no row any more; None where it may write all."""
    consumer = site.personal[name]
    if isinstance(consumer, UserTotals):
        return None
    done = published(site.warehouse, site.spec(name))
    if not consumer.windows.by_time:
        return c.PUBLISHED_BATCH, str(done.batch)
    return (c.WINDOW_END, f"'{utc(done.closed_until)}'") if done.closed_until > 0 else None


def _places(letters: Sequence[Row]) -> str:
    offsets = defaultdict[int, list[int]](list)
    for row in letters:
        offsets[row[c.PARTITION]].append(row[c.OFFSET])
    return " OR ".join(
        f'("partition" = {number} AND "offset" IN ({", ".join(map(str, some))}))' for number, some in offsets.items()
    )
