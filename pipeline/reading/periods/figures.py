"""Figures and their states: what an answer consists of. Pure; all times are milliseconds since 1970."""

from dataclasses import dataclass, field
from enum import StrEnum

from tidemark.pipeline.reading.periods.tiling import Tiling


class FigureState(StrEnum):
    """How far a figure can be relied on, by the watermark and the closing of windows, never by a clock."""

    FINAL = "final"
    """All its windows are closed: no event can change it, except by `tidemark correct` and `tidemark erase`."""
    COMPLETE = "complete"
    """The watermark has passed its end: allowed late events may change it."""
    SO_FAR = "so far"
    """The watermark has not passed its end: it covers the time until `covered_until`."""
    PARTIAL = "partial"
    """The watermark has passed its end, but a part of its time will never be known: it covers the rest."""
    UNKNOWN = "unknown"
    """It cannot be computed; `reason` says why."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The time that a figure covers, and whether it may change."""

    state: FigureState
    start: int
    """The first time that it covers."""
    until: int
    """It covers the time before; `start` if it covers nothing."""
    may_change_until: int | None = None
    """The watermark at which late events no longer change it; only of a complete or partial figure."""
    reason: str = ""
    """Why it is unknown, or known of a part of the period only."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The other side of a comparison: `value` covers `[start, end)`, as `own` covers the same local times."""

    value: float | None
    own: float | None
    """The value of the figure itself, cut at the same local time."""
    own_end: int
    start: int
    end: int
    state: FigureState
    reason: str = ""

    @property
    def change(self) -> float | None:
        """The relative change; None if it is unknown, or the other side is 0."""
        return (self.own - self.value) / self.value if self.value and self.own is not None else None


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of a period; `value` is None if it is unknown."""

    value: float | None
    coverage: Coverage
    is_exact: bool = True
    """Whether it is no estimate."""
    more: dict[str, float | None] = field(default_factory=dict)
    """Further numbers, by name."""
    compared: Compared | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a period in a series."""

    start: int
    end: int
    page_views: int | None
    visitors: int | None
    coverage: Coverage
    """Coverage of the page views."""
    of_visitors: Coverage
    """Coverage of the visitors, which may be less, as windows of users may be longer."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A row of a breakdown; `key` is None for events without a value."""

    key: str | None
    values: dict[str, int | None]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The values of a key with the highest numbers, and the sums of all others."""

    rows: list[Listed]
    rest: dict[str, int]
    rest_rows: int
    """Number of values that are not in `rows`."""
    coverage: Coverage
    has_overlap: bool = False
    """Whether a column is a number of users, who may be in several rows: such columns are not in `rest`."""
    is_about: bool = False
    """Whether the numbers of rows are at least those, and a value may be missing, because windows have a `top`."""


def coverage_of(tiling: Tiling, reason: str = "") -> Coverage:
    """Returns the coverage of a sum over the windows of a tiling. `reason` says why a tiling has no runs."""
    if not tiling.runs:
        return unknown_coverage(tiling.start, reason)
    if tiling.waits:
        return Coverage(FigureState.SO_FAR, tiling.start, tiling.covered_until)
    if not tiling.is_whole:
        return Coverage(FigureState.PARTIAL, tiling.start, tiling.covered_until, tiling.may_change_until)
    if tiling.is_final:
        return Coverage(FigureState.FINAL, tiling.start, tiling.end)
    return Coverage(FigureState.COMPLETE, tiling.start, tiling.end, tiling.may_change_until)


def unknown_coverage(start: int, reason: str) -> Coverage:
    """Returns the coverage of what cannot be computed."""
    return Coverage(FigureState.UNKNOWN, start, start, reason=reason)
