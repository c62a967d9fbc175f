"""Limits on connections and time, and the choice of the connection to end at the limit."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server."""

    connections: int
    """Open at once. At the limit, a new connection ends one that waits for its client."""
    header_s: float = 10
    """From a connection's start, or the answer before, to the end of the next request's header."""
    request_s: float = 60
    """From the end of a header to the end of the answer, however slowly the client sends or reads."""


class OpenConnection(Protocol):
    """The part of a connection that the choice needs."""

    @property
    def address(self) -> str:
        """The address of the client."""

    @property
    def waits_for_client(self) -> bool:
        """Whether the server waits for the client, not the client for the server."""


C = TypeVar("C", bound=OpenConnection)


def expendable(connections: Sequence[C]) -> C | None:
    """Returns the connection to end when there are too many; None where each is being answered.

    It is the oldest that waits for its client, of the address that has most of them: a flood ends its own connections.
    """
    waiting = [connection for connection in connections if connection.waits_for_client]
    shares = Counter(connection.address for connection in waiting)
    return max(waiting, key=lambda connection: shares[connection.address], default=None)
