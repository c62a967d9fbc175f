"""Users that a person names in clear, as the tables of a warehouse know them."""

from collections.abc import Sequence

from pipeline.settings.model import Settings
from pipeline.settings.secrets import pseudonyms_from
from pipeline.tables.ledger import Ledger
from pipeline.tables.opening import require_key


def known_as(settings: Settings, users: Sequence[str]) -> tuple[str, ...]:
    """The ids that tables have of users. Raises SetUpError where the settings have another key, or none, for them."""
    pseudonyms = pseudonyms_from(settings.privacy.pseudonym_key_file)
    ledger = Ledger(settings.warehouse, mends=False)
    rows = ledger.latest()
    if rows and (users or pseudonyms):
        require_key(ledger.opening(rows[0].epoch), pseudonyms, settings.warehouse)
    return tuple(map(pseudonyms.of, users)) if pseudonyms else tuple(users)
