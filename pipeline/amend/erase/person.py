"""A person in conditions that a table's log keeps: by a hash under a salt of the run, never by name."""

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Final

from pipeline import columns as c

_HASH_BITS: Final = 32
_SALTS: Final = 2**30
"""A reference is the version of a transaction, which has 63 bits."""


@dataclass(frozen=True, slots=True)
class Person:
    """Whoever has this id in the tables."""

    id: str = field(repr=False)
    _salt: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def acted(self) -> str:
        """SQL: that a row is of the person."""
        return self._is(c.USER_ID, self.id)

    @property
    def is_key(self) -> str:
        """SQL: that the key of a record is the person's id."""
        return self._is(f"encode({c.KEY}, 'hex')", self.id.encode().hex())

    def is_in(self, octets: bytes | None) -> bool:
        """Whether the id stands in some bytes."""
        return octets is not None and self.id.encode() in octets

    def reference(self) -> int:
        """Returns a new number above 0 by which a run that was cut off knows the person again: a salt and a hash."""
        salt = 1 + secrets.randbelow(_SALTS)
        return salt << _HASH_BITS | self._hash(salt)

    def is_meant_by(self, reference: int) -> bool:
        """Whether a reference is to this person; 0 is to no person."""
        return reference > 0 and reference % (1 << _HASH_BITS) == self._hash(reference >> _HASH_BITS)

    def _hash(self, salt: int) -> int:
        return int.from_bytes(hashlib.sha256(f"{salt} {self.id}".encode()).digest()[: _HASH_BITS // 8], "big")

    def _is(self, what: str, text: str) -> str:
        told = hashlib.sha256(f"{self._salt}{text}".encode()).hexdigest()
        return f"encode(sha256(concat('{self._salt}', {what})), 'hex') = '{told}'"


def nobody() -> str:
    """A name that means nobody, and is given once."""
    return f"erased-{secrets.token_hex(16)}"
