"""Pseudonyms of users: a keyed hash of fields of a request, which only the owner of the salt can compute."""

import hmac
from pathlib import Path
from typing import Final

from tidemark.command_line.counts import counted
from tidemark.producers.errors import SetUpError

_SHORTEST: Final = 32
_HEX_DIGITS: Final = 32


class Pseudonyms:
    """Computes pseudonyms with one salt; pseudonyms of different salts cannot be linked."""

    def __init__(self, salt: bytes) -> None:
        self._salt = salt

    @classmethod
    def from_file(cls, path: Path) -> "Pseudonyms":
        """Reads the salt from a file. Raises SetUpError if it is missing or shorter than 32 characters."""
        try:
            salt = path.read_bytes().strip()
        except OSError as error:
            raise SetUpError(f"the salt cannot be read from {path}: {error.strerror}; {_advice(path)}") from error
        if len(salt) < _SHORTEST:
            size = counted(len(salt), "character")
            raise SetUpError(f"the salt in {path} has {size}, fewer than {_SHORTEST}; {_advice(path)}")
        return cls(salt)

    def pseudonym_of(self, *fields: str | bytes) -> str:
        """Returns the pseudonym of `fields`: the first 128 bits of HMAC-SHA-256, in hexadecimal."""
        octets = (field.encode() if isinstance(field, str) else field for field in fields)
        # No field contains a byte 0, so different fields give different texts.
        return hmac.digest(self._salt, b"\x00".join(octets), "sha256").hex()[:_HEX_DIGITS]


def _advice(path: Path) -> str:
    return f"create a salt, for example by `openssl rand -hex 32 > {path}`"
