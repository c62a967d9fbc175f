"""Users known by a pseudonym: a keyed hash of their id, which only the owner of the key can repeat.

Erased users are known again in the same way, by a key that whoever has the warehouse has.
It is HMAC-SHA-256, its first 128 bits in hexadecimal. Source: RFC 2104; NIST SP 800-107, 5.1 (truncation).
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

HEX_DIGITS: Final = 32
_BLOCK_BYTES: Final = 64
_INNER: Final = 0x36
_OUTER: Final = 0x5C
_MARK: Final = b"\xfftidemark"
"""No UTF-8, so that no user has it for an id."""


class Pseudonyms:
    """Pseudonyms by one key; another key gives others, and nothing links them."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, user: str) -> str:
        """The pseudonym of a user."""
        return self._digest(user.encode())

    @property
    def fingerprint(self) -> str:
        """By which a key is known again, and which tells nothing of it."""
        return self._digest(_MARK)

    @property
    def pads(self) -> tuple[bytes, bytes]:
        """What is hashed before a text, and before the hash of both: all that an engine needs of the key."""
        block = self._key if len(self._key) <= _BLOCK_BYTES else hashlib.sha256(self._key).digest()
        whole = block.ljust(_BLOCK_BYTES, b"\x00")
        return bytes(one ^ _INNER for one in whole), bytes(one ^ _OUTER for one in whole)

    def _digest(self, text: bytes) -> str:
        return hmac.digest(self._key, text, "sha256").hex()[:HEX_DIGITS]


@dataclass(frozen=True, slots=True)
class ErasedUsers:
    """Users that were erased and whose later events are dropped, each by a hash of the id that tables had of it."""

    salt: bytes
    hashes: frozenset[str]

    def hash_of(self, user: str) -> str:
        """That of a user."""
        return Pseudonyms(self.salt).of(user)
