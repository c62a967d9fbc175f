"""Users known by a pseudonym: a keyed hash of what a request tells of them, which only the salt's owner can repeat."""

import hmac
from pathlib import Path
from typing import Final

from producers.errors import SetupError

_SHORTEST: Final = 32
_HEX_DIGITS: Final = 32


class Pseudonyms:
    """Pseudonyms by one salt; another salt gives others, and nothing links them."""

    def __init__(self, salt: bytes) -> None:
        self._salt = salt

    @classmethod
    def from_file(cls, path: Path) -> "Pseudonyms":
        """Those of the salt in a file. Raises SetupError if there is none of 32 characters or more."""
        try:
            salt = path.read_bytes().strip()
        except OSError as error:
            raise SetupError(f"the salt cannot be read from {path}: {error.strerror}; {_make_one(path)}") from error
        if len(salt) < _SHORTEST:
            raise SetupError(f"the salt in {path} has {len(salt)} characters of {_SHORTEST}; {_make_one(path)}")
        return cls(salt)

    def of(self, *told: str | bytes) -> str:
        """The pseudonym of what was told: HMAC-SHA-256, its first 128 bits in hexadecimal."""
        octets = (one.encode() if isinstance(one, str) else one for one in told)
        # No field has a byte 0, so that no two ways to split a text are the same.
        return hmac.digest(self._salt, b"\x00".join(octets), "sha256").hex()[:_HEX_DIGITS]


def _make_one(path: Path) -> str:
    return f"make one, as by `openssl rand -hex 32 > {path}`"
