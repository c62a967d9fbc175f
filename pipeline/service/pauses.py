"""Pauses between attempts, which grow while the attempts fail."""

from collections.abc import Iterator
from itertools import chain, repeat


def growing(*seconds: float) -> Iterator[float]:
    """Yields pauses in seconds; repeats the last pause for ever."""
    return chain(seconds, repeat(seconds[-1]))
