"""The life of windows: open, fired, fired again, closed; and which of them are due for publication."""

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from pipeline.time import rules
from pipeline.time.verdicts import Policy


@dataclass(frozen=True, slots=True)
class Due:
    """Windows to publish, by their end in milliseconds.

    `fired` are all known windows with `after < end <= upto`; those in `again` fired before and have changed since.
    `steps` tells which batch fired a window: (boundary, batch) in order, the first boundary not before its end.
    """

    after: int
    upto: int
    fired: frozenset[int] = frozenset()
    again: frozenset[int] = frozenset()
    closed: frozenset[int] = frozenset()
    steps: tuple[tuple[int, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.fired or self.again)

    def then(self, later: "Due") -> "Due":
        """Both at once: one publication may cover several batches, for it is a function of all committed panes."""
        first = {end for end in later.again if end > self.after}
        return Due(
            after=self.after,
            upto=max(self.upto, later.upto),
            fired=self.fired | later.fired | first,
            again=self.again | (later.again - first),
            closed=self.closed | later.closed,
            steps=tuple(sorted({*self.steps, *later.steps})),
        )


@dataclass(slots=True)
class Windows:
    """The windows that are not closed, and which batches moved the watermark over a window's end."""

    policy: Policy
    open: set[int] = field(default_factory=set)
    _steps: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def restored(cls, policy: Policy, ends: Iterable[int], watermarks: Iterable[tuple[int, int]]) -> "Windows":
        """From the tables: ends of windows with panes, and (watermark, batch) in order."""
        windows = cls(policy, set(ends))
        for watermark, batch in watermarks:
            windows._note(watermark, batch)
        return windows

    def after_batch(self, counted: Collection[int], before: int | None, after: int | None, batch: int) -> Due:
        """What a batch makes due: it counted events in windows `counted` and moved the watermark."""
        old = rules.NO_WATERMARK if before is None else before
        new = rules.NO_WATERMARK if after is None else after
        self.open.update(counted)
        self._note(new, batch)
        fired = {end for end in self.open if rules.has_fired(end, new) and not rules.has_fired(end, old)}
        again = {end for end in counted if rules.has_fired(end, old)}
        steps = self._steps_of(fired | again)
        return Due(old, new, frozenset(fired), frozenset(again), self._close(new), steps)

    def at_start(self, watermark: int | None) -> Due:
        """What a start publishes again: every window that has fired and is not known to be closed and published."""
        now = rules.NO_WATERMARK if watermark is None else watermark
        again = frozenset(end for end in self.open if rules.has_fired(end, now))
        steps = self._steps_of(again)
        return Due(now, now, again=again, closed=self._close(now), steps=steps)

    def _note(self, watermark: int, batch: int) -> None:
        boundary = rules.pane_start(watermark, self.policy.window_ms)
        if watermark != rules.NO_WATERMARK and (not self._steps or boundary > self._steps[-1][0]):
            self._steps.append((boundary, batch))

    def _steps_of(self, ends: Collection[int]) -> tuple[tuple[int, int], ...]:
        if not ends:
            return ()
        return tuple(self._steps[bisect_left(self._steps, (min(ends), 0)) :])

    def _close(self, watermark: int) -> frozenset[int]:
        lateness = self.policy.allowed_lateness_ms
        closed = frozenset(end for end in self.open if rules.has_closed(end, watermark, lateness))
        self.open -= closed
        del self._steps[: bisect_left(self._steps, (watermark - lateness, 0))]
        return closed
