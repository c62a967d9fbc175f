"""`tidemark erase`: a person leaves every table, and every file below them.

It may run beside the service. First go the dead letters, so that no correction can begin with them; then the panes,
which all else is made of; then corrections and rows, behind which nothing lands that was made of older panes. What came
meanwhile is looked for again.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import click

from command_line.terminal import Console, Table
from pipeline.amend.erase import pane_erasure
from pipeline.amend.erase.erased_files import GRACE, remove_files
from pipeline.amend.erase.erasure_record import write_down
from pipeline.amend.erase.future_events import drop_later
from pipeline.amend.erase.other_tables import blank_letters, remove_corrections, remove_rows
from pipeline.amend.erase.person import Person
from pipeline.amend.erase.person_tables import Site
from pipeline.amend.user_names import known_as
from pipeline.errors import TransientError
from pipeline.settings.load import require
from pipeline.settings.model import Settings
from pipeline.tables.erased_users import forget
from pipeline.tables.ledger import require_warehouse

_TIMES: Final = 10
"""So often what came meanwhile is looked for."""


def erase(settings: Settings, user: str, *, does_it: bool, drops_later: bool = False) -> None:
    """Runs the command and prints what it did, or would do. Raises what `erase_person` raises."""
    in_hand = drop_later(*_named(settings, user)) if does_it and drops_later else None
    rows = erase_person(settings, user) if does_it else persons_rows(settings, user)
    table = Table("table", "rows of the user")
    for name, number in sorted(rows.items()):
        table.add_row(name, f"{number:,}")
    Console().print(table)
    click.echo("They are erased." if does_it else "Nothing is changed: say --yes to erase them.")
    if does_it and drops_later:
        click.echo("Later events of the user are dropped.")
    if in_hand is not None:
        click.echo(
            "No batch was committed meanwhile. If a service has one in hand, it may still bring events of the user: "
            f"run it again once there is a batch after {in_hand} (`tidemark status`)."
        )


def count_again(settings: Settings, user: str) -> None:
    """Has later events of a user counted again, and says so."""
    site, person = _named(settings, user)
    was_dropped = forget(site.warehouse, person.id)
    click.echo(f"Later events of the user are {'counted again' if was_dropped else 'not dropped'}.")


def persons_rows(settings: Settings, user: str) -> dict[str, int]:
    """How many rows each table has of a user. Raises SetUpError where there is no warehouse, or it has another key."""
    site, person = _named(settings, user)
    return site.found(person)


def erase_person(settings: Settings, user: str, grace: timedelta = GRACE) -> dict[str, int]:
    """Erases a user; returns by table how many rows had it. Doing it again finds what came since, or nothing.

    Raises TransientError where it is not done: events of the user go on coming, or files may still be in use.
    """
    site, person = _named(settings, user)
    rows = Counter(_from_tables(site, person))
    write_down(site, rows)
    young = remove_files(site, person, grace)
    if young:
        raise TransientError(
            f"the tables are done, but {len(young)} files of commits that were refused have the user and may be in "
            f"use: run it again after {max(young) + grace:%Y-%m-%d %H:%M:%S} UTC"
        )
    return rows


def _from_tables(site: Site, person: Person) -> Mapping[str, int]:
    rows = Counter[str]()
    for _ in range(_TIMES):
        found = site.found(person)
        if not found and not pane_erasure.is_pending(site, person):
            return rows
        rows += Counter(found)
        blank_letters(site, person)
        pane_erasure.remove(site, person)
        pane_erasure.rename(site, person)
        remove_corrections(site, person)
        remove_rows(site, person)
        pane_erasure.finish(site)
    write_down(site, rows)
    raise TransientError(
        "events of the user go on coming, or a service that was killed left some behind: stop them, or start it, and "
        "run it again"
    )


def _named(settings: Settings, user: str) -> tuple[Site, Person]:
    require(settings, "warehouse")
    require_warehouse(settings.warehouse)
    return Site.of(settings.warehouse), Person(known_as(settings, [user])[0])
