"""Pseudonyms: keyed hashes of user ids, which only the owner of the key can compute.

Erased users are recognised by the same hash with a key that the warehouse stores.
The hash is the first 128 bits of HMAC-SHA-256, in hexadecimal. Source: RFC 2104; NIST SP 800-107, 5.1 (truncation).
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

HEX_DIGITS: Final = 32
_BLOCK_BYTES: Final = 64
_INNER: Final = 0x36
_OUTER: Final = 0x5C
_FINGERPRINT_OF: Final = b"\xfftidemark"
"""Not UTF-8, so that no user has this id."""


class Pseudonyms:
    """Pseudonyms by one key; pseudonyms by different keys cannot be linked."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, user: str) -> str:
        """Returns the pseudonym of a user id."""
        return self._digest(user.encode())

    @property
    def fingerprint(self) -> str:
        """Returns the same text for the same key; the text reveals nothing of the key."""
        return self._digest(_FINGERPRINT_OF)

    @property
    def pads(self) -> tuple[bytes, bytes]:
        """Returns HMAC's inner and outer pad, with which another engine computes pseudonyms without the key."""
        block = self._key if len(self._key) <= _BLOCK_BYTES else hashlib.sha256(self._key).digest()
        padded = block.ljust(_BLOCK_BYTES, b"\x00")
        return bytes(byte ^ _INNER for byte in padded), bytes(byte ^ _OUTER for byte in padded)

    def _digest(self, text: bytes) -> str:
        return hmac.digest(self._key, text, "sha256").hex()[:HEX_DIGITS]


@dataclass(frozen=True, slots=True)
class ErasedUsers:
    """Erased users whose later events are dropped: the hash of the id that tables had of each."""

    salt: bytes
    hashes: frozenset[str]

    def hash_of(self, user: str) -> str:
        """Returns the hash of a user's id."""
        return Pseudonyms(self.salt).of(user)
