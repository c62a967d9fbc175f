"""A person in conditions that a table's log keeps: by a hash under a salt of the run, never by name."""

import hashlib
import secrets
from dataclasses import dataclass, field

from pipeline import columns as c


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

    def reference(self, table_id: str) -> int:
        """A number above 0 by which a run that was cut off knows the person again."""
        told = hashlib.sha256(f"{table_id} {self.id}".encode()).digest()
        return int.from_bytes(told[:8], "big") >> 1 | 1

    def _is(self, what: str, text: str) -> str:
        told = hashlib.sha256(f"{self._salt}{text}".encode()).hexdigest()
        return f"encode(sha256(concat('{self._salt}', {what})), 'hex') = '{told}'"


def nobody() -> str:
    """A name that means nobody, and is given once."""
    return f"erased-{secrets.token_hex(16)}"
