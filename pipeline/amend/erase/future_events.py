"""Later events of a person, dropped from now on."""

import time
from typing import Final

from deltalake import DeltaTable

from pipeline.amend.erase.person import Person
from pipeline.amend.erase.person_tables import Site
from pipeline.errors import SetUpError
from pipeline.tables.erased_users import LOOKS_EVERY_S, remember
from pipeline.tables.ledger import has_columns
from pipeline.tables.schemas import LEDGER

PATIENCE_S: Final = 10.0
"""So long the batch is waited for that a service may have had in hand."""
_POLL_S: Final = 0.2


def drop_later(site: Site, person: Person, patience_s: float = PATIENCE_S) -> int | None:
    """Has a service drop later events, and waits until it has taken notice, where that can be told.

    Returns the newest batch if no other was committed meanwhile: one that was in hand may still bring events of the
    person. Raises SetUpError where the service that wrote last knows nothing of it.
    """
    if not has_columns(DeltaTable(LEDGER.uri(site.warehouse)), ["erased"]):
        raise SetUpError(
            "the service that wrote this warehouse last is of a version that drops no later events: start one of this "
            "version first"
        )
    if not remember(site.warehouse, person.id):
        return None
    time.sleep(LOOKS_EVERY_S)
    # A batch that begins from here on knows it. What one before it brought is there once that is committed.
    last, until = site.committed(), time.monotonic() + patience_s
    while time.monotonic() < until:
        if site.committed() > last:
            return None
        time.sleep(_POLL_S)
    return last
