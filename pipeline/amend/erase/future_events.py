"""Drops later events of a user."""

import time
from typing import Final

from deltalake import DeltaTable

from tidemark.pipeline.amend.erase.person import Person
from tidemark.pipeline.amend.erase.person_tables import PersonalTables
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.tables.erased_users import LOOKS_EVERY_S, remember
from tidemark.pipeline.tables.ledger import has_columns
from tidemark.pipeline.tables.schemas import LEDGER

PATIENCE_S: Final = 10.0
"""Wait this long for the batch that a service may be processing."""
_POLL_S: Final = 0.2


def drop_later(tables: PersonalTables, person: Person, patience_s: float = PATIENCE_S) -> int | None:
    """Has the service drop later events, and waits until a batch without them is committed.

    Returns the newest batch if no batch was committed within `patience_s`: the batch in progress may still add events
    of the user. Raises SetUpError if the last service was of a version that does not drop events.
    """
    if not has_columns(DeltaTable(LEDGER.uri(tables.warehouse)), ["erased"]):
        raise SetUpError(
            "the service that wrote this warehouse last is of a version that drops no later events: start one of this "
            "version first"
        )
    if not remember(tables.warehouse, person.id):
        return None
    time.sleep(LOOKS_EVERY_S)
    # Batches that start from now on drop the events; an earlier batch may still be uncommitted.
    last, until = tables.committed(), time.monotonic() + patience_s
    while time.monotonic() < until:
        if tables.committed() > last:
            return None
        time.sleep(_POLL_S)
    return last
