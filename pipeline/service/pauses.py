"""Pauses between tries that grow while the tries fail."""

from collections.abc import Iterator
from itertools import chain, repeat


def growing(*seconds: float) -> Iterator[float]:
    """One pause after the other, in seconds; the last one again and again."""
    return chain(seconds, repeat(seconds[-1]))
