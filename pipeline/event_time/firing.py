"""Firings: results that are due for publication, a class for each kind; and the watermark steps that make them due."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self, TypeVar

from tidemark.pipeline.event_time import rules


class WatermarkStep(NamedTuple):
    """A watermark in milliseconds, and the first batch that reached it."""

    watermark: int
    batch: int


Steps = tuple[WatermarkStep, ...]
"""In the order of time."""


@dataclass(frozen=True, slots=True)
class CountedBatch:
    """A batch that counted events in `panes` and moved the watermark from `before` to `after`, in milliseconds."""

    batch: int
    panes: Collection[int]
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PublicationState:
    """The batch up to which a report is published. Windows that end at or before `closed_until` (ms) are final."""

    batch: int = 0
    closed_until: int = rules.NO_WATERMARK


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing(ABC):
    """The part of one result table that is due for publication. A firing without arguments is empty.

    `fired`, `refired` and `closed` are the ends (ms) of windows that the driver knows: windows that fire for the first
    time, windows that changed after they had fired, and windows that no event can change. Windows that end at
    or before `closed_until` are final once this is published, which the table records even without a row.
    """

    fired: frozenset[int] = frozenset()
    refired: frozenset[int] = frozenset()
    closed: frozenset[int] = frozenset()
    closed_until: int = rules.NO_WATERMARK

    @property
    def is_empty(self) -> bool:
        """Whether nothing has to be published."""
        return self == replace(type(self)(), closed_until=self.closed_until)

    @abstractmethod
    def merge(self, later: Self) -> Self:
        """Merges with what later batches made due: one publication covers all of it, from the panes of all batches."""


FiringT_co = TypeVar("FiringT_co", bound=Firing, covariant=True)
"""The firing of one kind of result: what its state makes due and its publication takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsDue(Firing):
    """Windows whose ends follow from the clock. `fired_by` is by end the batch whose watermark first reached it.

    >>> first = WindowsDue(fired=frozenset({60_000}), fired_by={60_000: 1})
    >>> both = first.merge(WindowsDue(refired=frozenset({60_000, 120_000}), fired_by={60_000: 1, 120_000: 0}))
    >>> sorted(both.fired), sorted(both.refired)  # the first window was not published yet
    ([60000], [120000])
    """

    fired_by: Mapping[int, int] = field(default_factory=dict)

    def merge(self, later: "WindowsDue") -> "WindowsDue":
        """Merges. A window that fires in this firing and changes in `later` fires once."""
        return WindowsDue(
            fired=self.fired | later.fired,
            refired=self.refired | (later.refired - self.fired),
            closed=self.closed | later.closed,
            fired_by={**self.fired_by, **later.fired_by},
            closed_until=max(self.closed_until, later.closed_until),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsDue(Firing):
    """Sessions that end after `after` and at or before `until`, in ms, to which `steps` moved the watermark."""

    after: int = rules.NEVER
    until: int = rules.NO_WATERMARK
    steps: Steps = ()

    def merge(self, later: "SessionsDue") -> "SessionsDue":
        """Merges two spans that follow one another."""
        return SessionsDue(
            after=min(self.after, later.after),
            until=max(self.until, later.until),
            steps=tuple(sorted({*self.steps, *later.steps})),
            closed_until=max(self.closed_until, later.closed_until),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsDue(Firing):
    """Count windows that ended with an event after batch `after_batch`."""

    after_batch: int = rules.NEVER

    def merge(self, later: "CountsDue") -> "CountsDue":
        """Merges to the earlier of the two batches."""
        return CountsDue(after_batch=min(self.after_batch, later.after_batch))


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsDue(Firing):
    """The totals of all users who changed since the table was last filled."""

    is_due: bool = False

    def merge(self, later: "TotalsDue") -> "TotalsDue":
        """Merges to due if this or `later` is due."""
        return TotalsDue(is_due=self.is_due or later.is_due)
