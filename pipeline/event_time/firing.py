"""Windows that are due for publication, and the steps that make them due."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pipeline.event_time import rules

Steps = tuple[tuple[int, int], ...]
"""(watermark, the first batch that reached it), in order."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A batch that counted events in `panes` and moved the watermark; times in milliseconds."""

    batch: int
    panes: Collection[int]
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Published:
    """How far a report is published: up to a batch; and windows that end no later are closed and final."""

    batch: int = 0
    closed_until: int = rules.NO_WATERMARK


@dataclass(frozen=True, slots=True)
class Firing:
    """Windows to publish, by their end in milliseconds.

    Those in `fired` fire for the first time, those in `again` fired before and have changed since. `fired_by` tells
    of both which batch's watermark first reached the end. Of sessions only `span` is known here: those that end after
    the first and not after the second time; `fired_by` then tells which batch moved the watermark where. For count
    windows the span is of batches, and totals are due as a whole where there is one. Windows that end no later than
    `closed_until` are closed with it: when it is published, they are final.
    """

    fired: frozenset[int] = frozenset()
    refired: frozenset[int] = frozenset()
    closed: frozenset[int] = frozenset()
    fired_by: Mapping[int, int] = field(default_factory=dict)
    span: tuple[int, int] | None = None
    closed_until: int = rules.NO_WATERMARK

    def __bool__(self) -> bool:
        # Closing shows no row, but what is closed and published is final: that must be on record.
        return bool(self.fired or self.refired or self.closed or self.span)

    def then(self, later: "Firing") -> "Firing":
        """Both at once: one publication may cover several batches, for it is a function of all committed panes."""
        return Firing(
            fired=self.fired | later.fired,
            refired=self.refired | (later.refired - self.fired),
            closed=self.closed | later.closed,
            fired_by={**self.fired_by, **later.fired_by},
            span=(self.span[0], later.span[1]) if self.span and later.span else self.span or later.span,
            closed_until=max(self.closed_until, later.closed_until),
        )
