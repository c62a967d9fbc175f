"""The life of windows: open, fired, fired again, closed; and which of them are due for publication."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from pipeline.time import rules
from pipeline.time.report import Periodic


@dataclass(frozen=True, slots=True)
class Due:
    """Windows to publish, by their end in milliseconds.

    Those in `fired` fire for the first time, those in `again` fired before and have changed since. `fired_by` tells
    of both which batch's watermark first reached the end. Of sessions only `span` is known here: those that end after
    the first and not after the second time; `fired_by` then tells which batch moved the watermark where. For count
    windows the span is of batches, and totals are due as a whole where there is one.
    """

    fired: frozenset[int] = frozenset()
    again: frozenset[int] = frozenset()
    closed: frozenset[int] = frozenset()
    fired_by: Mapping[int, int] = field(default_factory=dict)
    span: tuple[int, int] | None = None

    def __bool__(self) -> bool:
        # Closing shows no row, but what is closed and published is final: that must be on record.
        return bool(self.fired or self.again or self.closed or self.span)

    def then(self, later: "Due") -> "Due":
        """Both at once: one publication may cover several batches, for it is a function of all committed panes."""
        return Due(
            fired=self.fired | later.fired,
            again=self.again | (later.again - self.fired),
            closed=self.closed | later.closed,
            fired_by={**self.fired_by, **later.fired_by},
            span=(self.span[0], later.span[1]) if self.span and later.span else self.span or later.span,
        )


@dataclass(slots=True)
class Windows:
    """A report's windows that are not closed, and which batches moved the watermark over a window's end."""

    windows: Periodic
    allowed_lateness_ms: int
    open: set[int] = field(default_factory=set)
    _steps: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def restored(
        cls,
        windows: Periodic,
        allowed_lateness_ms: int,
        ends: Iterable[int],
        watermarks: Iterable[tuple[int, int]],
    ) -> "Windows":
        """From the tables: ends of windows with panes, and (watermark, batch) in order."""
        restored = cls(windows, allowed_lateness_ms, set(ends))
        for watermark, batch in watermarks:
            restored._note(watermark, batch)
        return restored

    def after_batch(
        self,
        counted: Collection[int],
        before: int | None,
        after: int | None,
        batch: int,
        near: Collection[int] = (),
    ) -> Due:
        """What a batch makes due: it counted events in panes of the windows `counted`, and moved the watermark.

        Of windows that overlap some may be closed while others still take a late event. Windows `near` are changed by
        these events if they have some of their own.
        """
        old = rules.NO_WATERMARK if before is None else before
        new = rules.NO_WATERMARK if after is None else after
        live = {end for end in counted if not rules.has_closed(end, old, self.allowed_lateness_ms)}
        live |= self.open.intersection(near)
        self.open.update(live)
        self._note(new, batch)
        fired = {end for end in self.open if rules.has_fired(end, new) and not rules.has_fired(end, old)}
        again = {end for end in live if rules.has_fired(end, old)}
        fired_by = self._fired_by(fired | again)
        return Due(frozenset(fired), frozenset(again), self._close(new), fired_by)

    def at_start(self, watermark: int | None) -> Due:
        """What a start publishes again: every window that has fired and is not known to be closed and published."""
        now = rules.NO_WATERMARK if watermark is None else watermark
        again = frozenset(end for end in self.open if rules.has_fired(end, now))
        fired_by = self._fired_by(again)
        return Due(again=again, closed=self._close(now), fired_by=fired_by)

    def _note(self, watermark: int, batch: int) -> None:
        boundary = self.windows.pane_start(watermark)
        if watermark != rules.NO_WATERMARK and (not self._steps or boundary > self._steps[-1][0]):
            self._steps.append((boundary, batch))

    def _fired_by(self, ends: Iterable[int]) -> dict[int, int]:
        return {end: self._steps[bisect_left(self._steps, (end, 0))][1] for end in ends}

    def _close(self, watermark: int) -> frozenset[int]:
        lateness = self.allowed_lateness_ms
        closed = frozenset(end for end in self.open if rules.has_closed(end, watermark, lateness))
        self.open -= closed
        del self._steps[: bisect_left(self._steps, (watermark - lateness, 0))]
        return closed


@dataclass(slots=True)
class SessionLife:
    """A report's sessions, of which the driver knows only how far the watermark has come."""

    allowed_lateness_ms: int
    closed: int = rules.NO_WATERMARK
    """Sessions that end no later have been published as closed."""
    _steps: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def restored(cls, allowed_lateness_ms: int, published: int, watermarks: Iterable[tuple[int, int]]) -> "SessionLife":
        """From the tables: the watermark of the last publication, and (watermark, batch) in order."""
        return cls(allowed_lateness_ms, published - allowed_lateness_ms, list(watermarks))

    def after_batch(self, before: int | None, after: int | None, batch: int, *, counted: bool) -> Due:
        """What a batch makes due that moved the watermark, or `counted` events."""
        if after is None:
            return Due()
        if after != before:
            self._steps.append((after, batch))
        return self._due(after) if counted or after != before else Due()

    def at_start(self, watermark: int | None) -> Due:
        """What a start publishes again: every session that has ended and is not known to be closed and published."""
        return Due() if watermark is None else self._due(watermark)

    def _due(self, watermark: int) -> Due:
        due = Due(fired_by=dict(self._steps), span=(self.closed, watermark))
        self.closed = watermark - self.allowed_lateness_ms
        del self._steps[: bisect_left(self._steps, (self.closed, 0))]
        return due


@dataclass(slots=True)
class CountLife:
    """A report's count windows, of which the driver knows only how far publication has come."""

    published: int = 0
    """The batch up to which full windows are published."""

    def after_batch(self, batch: int, *, counted: bool) -> Due:
        """What a batch makes due that counted events."""
        if not counted:
            return Due()
        due = Due(span=(self.published, batch))
        self.published = batch
        return due

    def at_start(self) -> Due:
        """What a start publishes: windows that became full and were not."""
        return Due(span=(self.published, rules.NEVER))


@dataclass(slots=True)
class TotalLife:
    """Totals, which are written anew when the watermark comes past a multiple of `every_ms`."""

    every_ms: int
    stale: bool = False
    """Whether events may have been counted since they were written."""

    def after_batch(self, before: int | None, after: int | None, *, counted: bool) -> Due:
        """What a batch makes due that moved the watermark, or `counted` events."""
        self.stale |= counted
        came = after is not None and (before is None or before // self.every_ms < after // self.every_ms)
        return self._due(after) if came else Due()

    def at_start(self, watermark: int | None) -> Due:
        """What a start publishes again: all of it, if there was a publication."""
        return self._due(watermark)

    def _due(self, watermark: int | None) -> Due:
        if watermark is None or not self.stale:
            return Due()
        self.stale = False
        return Due(span=(rules.NO_WATERMARK, watermark))
