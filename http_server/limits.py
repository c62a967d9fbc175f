"""How much of a server all clients may hold together, and who is cut off when it is too much."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server lends to its clients."""

    connections: int
    """Open at once; a new one beyond it ends one that waits for its client."""
    header_s: float = 10
    """From a connection's start, or the answer before, to the end of the next request's header."""
    request_s: float = 60
    """From the end of a header to the end of the answer, however slowly the client sends or reads."""


class Held(Protocol):
    """A connection as the limits see it."""

    @property
    def address(self) -> str:
        """Where its client is."""

    @property
    def waits_for_client(self) -> bool:
        """Whether the server has nothing to do but wait for this client."""


C = TypeVar("C", bound=Held)


def expendable(connections: Sequence[C]) -> C | None:
    """Returns the connection to end when there are too many; None where each is being answered.

    It is the oldest that waits for its client, of the address that has most of them: a flood ends its own connections.
    """
    waiting = [connection for connection in connections if connection.waits_for_client]
    shares = Counter(connection.address for connection in waiting)
    return max(waiting, key=lambda connection: shares[connection.address], default=None)
