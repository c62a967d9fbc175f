"""The offsets that a broker reports of a topic."""

from collections.abc import Mapping
from typing import NamedTuple


class TopicOffsets(NamedTuple):
    """Offsets by partition."""

    earliest: Mapping[int, int]
    """The first retained offset."""
    readable_ends: Mapping[int, int]
    """The offset after the last record that is not held back by an open transaction."""
    ends: Mapping[int, int]
    """The offset after the last record."""
