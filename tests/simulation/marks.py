"""Marks in tables: the ledger does not record when these steps were taken."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Place = tuple[int, int]
"""Partition and offset of a record."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Ends of windows in milliseconds, by report."""

    final: Mapping[str, int] = field(default_factory=dict)
    """How far windows are final: until a publication comes, corrections wait. 0 before the first publication."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How far a report was published when its panes were dropped."""
    merged: Mapping[str, int] = field(default_factory=dict)
    """How far panes were merged, also by a service after a reset that it did not know."""
    decided: Mapping[tuple[str, Place], int] = field(default_factory=dict)
    """How far windows were final when the correction of a record was decided, also before a reset."""
