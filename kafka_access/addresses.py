"""Addresses in settings: messages and logs show them, so they must not contain credentials."""

import re
from functools import partial
from typing import Final

from pydantic import AfterValidator

# The user of an Azure address is a container, as in `abfss://container@account.dfs.core.windows.net/folder`.
_CREDENTIALS: Final = re.compile(
    r"(?is)(?!abfss?://[^/:@]+@[^@]*$)(?:.*(//|:).*@|.*([?&]|(^|\s)-D)\S*(secret|passw|token|credential)\S*=)"
)


def has_credentials(value: object) -> bool:
    """Tests whether a value is text like an address or an option of Java that contains a user, a password or a token.

    >>> has_credentials("https://ann:hush@registry:8081"), has_credentials("https://registry:8081")
    (True, False)
    """
    return isinstance(value, str) and bool(_CREDENTIALS.match(value))


def without_credentials(text: str, instead: str) -> str:
    """Returns an address. Raises ValueError if it has credentials; `instead` names where to set them."""
    if has_credentials(text):
        raise ValueError(f"messages show addresses, so credentials must not be part of an address: {instead}")
    return text


def address(instead: str) -> AfterValidator:
    """Returns the validator of a setting by `without_credentials`."""
    return AfterValidator(partial(without_credentials, instead=instead))
