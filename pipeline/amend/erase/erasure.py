"""`tidemark erase`: erases a user from every table and every file below them.

It may run while the service runs. Dead letters go first, so that no correction can start from them; then panes, from
which results are computed; then corrections and rows, after which no publication of older panes can land. Events that
came meanwhile are erased in another pass.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import click
import pyarrow as pa
from deltalake import DeltaTable

from tidemark.command_line.counts import counted
from tidemark.command_line.printable import quoted
from tidemark.command_line.terminal import Console, Table
from tidemark.pipeline.amend.erase import pane_erasure
from tidemark.pipeline.amend.erase.erased_files import GRACE, remove_files
from tidemark.pipeline.amend.erase.future_events import drop_later
from tidemark.pipeline.amend.erase.other_tables import blank_letters, remove_corrections, remove_rows
from tidemark.pipeline.amend.erase.person import Person
from tidemark.pipeline.amend.erase.person_tables import PersonalTables
from tidemark.pipeline.amend.user_names import known_as
from tidemark.pipeline.errors import NothingFound, TransientError
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.settings.load import require
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.erased_users import forget
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.ledger import require_warehouse
from tidemark.pipeline.tables.query import rows_of
from tidemark.pipeline.tables.schemas import ERASURES, PANES
from tidemark.pipeline.tables.transactions import ERASED_EVENTS_APP

_PASSES: Final = 10
_RECORDED_SQL: Final = 'SELECT "table" AS name, sum(events) AS events FROM erasures GROUP BY "table"'


def erase(settings: Settings, user: str, *, confirmed: bool, drops_later: bool = False) -> None:
    """Erases a user if `confirmed`, and prints the number of rows by table. Raises what `erase_person` raises.

    Raises NothingFound if no table has a row of the user, unless later events are dropped.
    """
    pending = drop_later(*_named(settings, user)) if confirmed and drops_later else None
    rows = erase_person(settings, user) if confirmed else persons_rows(settings, user)
    if not rows and not drops_later:
        raise NothingFound(f"no table has a row of the user {quoted(user)}: check the id, which must match exactly")
    table = Table("table", "rows of the user")
    for name, count in sorted(rows.items()):
        table.add_row(name, f"{count:,}")
    Console().print_rows(table)
    done = "They are erased." if rows else "No table has a row of the user."
    click.echo(done if confirmed else "Nothing is changed: say --yes to erase them.")
    if confirmed and drops_later:
        click.echo("Later events of the user are dropped.")
    if pending is not None:
        click.echo(
            "No batch was committed meanwhile. If a service is processing a batch, it may add events of the user: "
            f"run it again once there is a batch after {pending} (`tidemark status`)."
        )


def count_again(settings: Settings, user: str) -> None:
    """Has later events of a user counted again, and prints whether they were dropped."""
    tables, person = _named(settings, user)
    was_dropped = forget(tables.warehouse, person.id)
    click.echo(f"Later events of the user are {'counted again' if was_dropped else 'not dropped'}.")


def persons_rows(settings: Settings, user: str) -> dict[str, int]:
    """Returns the number of a user's rows by table. Raises SetUpError if it is not a warehouse, or has another key."""
    tables, person = _named(settings, user)
    return tables.row_counts(person)


def erase_person(settings: Settings, user: str, grace: timedelta = GRACE) -> dict[str, int]:
    """Erases a user; returns the number of erased rows by table. A second run erases only what came since.

    Raises TransientError if it is incomplete: events of the user keep coming, or files may still be in use.
    """
    tables, person = _named(settings, user)
    tables, rows = _from_tables(tables, person)
    _record(tables, rows)
    young = remove_files(tables, person, grace)
    if young:
        raise TransientError(
            f"the tables are done, but the user is in {counted(len(young), 'file')} of refused commits that may be in "
            f"use: run it again after {max(young) + grace:%Y-%m-%d %H:%M:%S} UTC"
        )
    return rows


def _from_tables(tables: PersonalTables, person: Person) -> tuple[PersonalTables, Counter[str]]:
    """Erases the rows of a user; returns the tables, of which a start may have added some, and the counts of rows."""
    rows = Counter[str]()
    for _ in range(_PASSES):
        tables = PersonalTables.of(tables.warehouse)
        counts = tables.row_counts(person)
        if not counts and not pane_erasure.is_pending(tables, person):
            return tables, rows
        rows += Counter(counts)
        blank_letters(tables, person)
        pane_erasure.remove(tables, person)
        pane_erasure.rename(tables, person)
        remove_corrections(tables, person)
        remove_rows(tables, person)
        pane_erasure.finish(tables, person)
    _record(tables, rows)
    raise TransientError(
        "events of the user keep coming, or a service that was killed has left some: stop them, or start it, and "
        "run it again"
    )


def _record(tables: PersonalTables, rows: Mapping[str, int]) -> None:
    """Adds a row to `erasures` for each table that lost rows or events, also in a run that was killed."""
    handle = Handle.of(ERASURES, tables.warehouse)
    while True:
        events = _unrecorded_events(tables, handle.table)
        last = rows_of("SELECT max(erasure) AS last FROM erasures", erasures=handle.table)[0]["last"]
        fixed = {"erasure": (last or 0) + 1, "erased_at": now_ms()}
        added = [
            {**fixed, "table": name, "rows": rows.get(name, 0), "events": events.get(name)}
            for name in sorted({*rows, *events})
        ]
        if not added or handle.swap(pa.Table.from_pylist(added, schema=ERASURES.schema), by=None):
            return


def _unrecorded_events(tables: PersonalTables, erasures: DeltaTable) -> dict[str, int]:
    """Returns, by report, how many erased events the panes record that `erasures` does not."""
    panes = DeltaTable(PANES.uri(tables.warehouse))
    recorded = {row["name"]: row["events"] or 0 for row in rows_of(_RECORDED_SQL, erasures=erasures)}
    erased = {name: panes.transaction_version(f"{ERASED_EVENTS_APP}{name}") or 0 for name in tables.personal}
    left = {name: count - recorded.get(name, 0) for name, count in erased.items()}
    return {name: count for name, count in left.items() if count}


def _named(settings: Settings, user: str) -> tuple[PersonalTables, Person]:
    require(settings, "warehouse")
    require_warehouse(settings.warehouse)
    return PersonalTables.of(settings.warehouse), Person(known_as(settings, [user])[0])
