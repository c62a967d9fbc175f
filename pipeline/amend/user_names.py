"""The ids that users have in the tables of a warehouse."""

from collections.abc import Sequence

from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.secrets import pseudonyms_from
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.opening import require_key


def known_as(settings: Settings, users: Sequence[str]) -> tuple[str, ...]:
    """Returns the ids, pseudonyms where configured, of users. Raises SetUpError if the settings have another key."""
    pseudonyms = pseudonyms_from(settings.privacy.pseudonym_key_file)
    ledger = Ledger(settings.warehouse, mends=False)
    rows = ledger.latest()
    if rows and (users or pseudonyms):
        require_key(ledger.opening(rows[0].epoch), pseudonyms, settings.warehouse)
    return tuple(map(pseudonyms.of, users)) if pseudonyms else tuple(users)
