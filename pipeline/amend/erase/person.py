"""A user in conditions that a table's log stores: by a hash with a salt of the run, never by id."""

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Final

from tidemark.pipeline import columns as c

_HASH_BITS: Final = 32
_SALTS: Final = 2**30
"""A reference is the version of a transaction, which has 63 bits."""


@dataclass(frozen=True, slots=True)
class Person:
    """The user with this id in the tables."""

    id: str = field(repr=False)
    _salt: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def is_user_sql(self) -> str:
        """SQL condition: the row is of the user."""
        return self.has_sql(c.USER_ID)

    def has_sql(self, *columns: str) -> str:
        """SQL condition: one of the columns, of which there is at least one, has the user's id."""
        return f"({' OR '.join(self._equals_sql(column, self.id) for column in columns)})"

    @property
    def is_key_sql(self) -> str:
        """SQL condition: the key of the record is the user's id."""
        return self._equals_sql(f"encode({c.KEY}, 'hex')", self.id.encode().hex())

    def is_in(self, octets: bytes | None) -> bool:
        """Returns whether bytes contain the id."""
        return octets is not None and self.id.encode() in octets

    def reference(self) -> int:
        """Returns a new salt and hash as a number above 0, by which a later run recognises the user."""
        salt = 1 + secrets.randbelow(_SALTS)
        return salt << _HASH_BITS | self._hash(salt)

    def is_meant_by(self, reference: int) -> bool:
        """Returns whether a reference is to this user; 0 refers to no user."""
        return reference > 0 and reference % (1 << _HASH_BITS) == self._hash(reference >> _HASH_BITS)

    def _hash(self, salt: int) -> int:
        return int.from_bytes(hashlib.sha256(f"{salt} {self.id}".encode()).digest()[: _HASH_BITS // 8], "big")

    def _equals_sql(self, expression: str, text: str) -> str:
        digest = hashlib.sha256(f"{self._salt}{text}".encode()).hexdigest()
        return f"encode(sha256(concat('{self._salt}', {expression})), 'hex') = '{digest}'"


def anonymous_id() -> str:
    """Returns a new id that belongs to no user."""
    return f"erased-{secrets.token_hex(16)}"
