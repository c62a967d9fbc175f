"""Cuts both sides of a comparison at the same local time of the same day. Pure."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from tidemark.pipeline.instants import moment
from tidemark.pipeline.reading.periods.local_days import local_date, prefix_end
from tidemark.pipeline.reading.periods.period import Period
from tidemark.pipeline.reading.periods.tiling import Tiling, WindowLevel, known_for, longest_first, tiling_of

_STEPS: Final = 200
"""At most this many bounds of each length are tried: more than the minutes of an hour that clocks repeat."""


class Cut(NamedTuple):
    """The ends (ms) of both sides, before which both have the same local times of the same days."""

    own: int
    other: int


def same_time(until: int, period: Period, other: Period) -> int | None:
    """Returns the end in `other` of the same local times as `period` has before `until`; None if it has no such end.

    Where clocks are put back, times inside of the repeated hour have no such end: see `prefix_end`.
    """
    if until >= period.end:
        return other.end
    local = moment(until).astimezone(period.zone)
    clock = local.time()
    if prefix_end(local.date(), clock, period.zone) != until:
        return None
    return prefix_end(other.first + (local_date(until, period.zone) - period.first), clock, period.zone)


def cut_of(
    until: int, period: Period, other: Period, befores: Sequence[Callable[[int], int]], is_cut: Callable[[Cut], bool]
) -> Cut | None:
    """Returns the last cut at or before `until` that `is_cut` accepts; None without one among the last bounds.

    Each of `befores` returns the last bound before a time, of shorter windows first.
    """
    for before in befores:
        time = until
        for _ in range(_STEPS):
            if time <= period.start:
                break
            end = same_time(time, period, other)
            if end is not None and is_cut(cut := Cut(time, end)):
                return cut
            time = before(time)
    return None


def cut_tilings(
    tiling: Tiling, period: Period, other: Period, levels: Sequence[WindowLevel]
) -> tuple[Tiling, Tiling] | None:
    """Returns both sides, each covered to the last bound at which both can be cut; None without such a bound."""

    def sides(cut: Cut) -> tuple[Tiling, Tiling]:
        return tiling_of(period.start, cut.own, levels), tiling_of(other.start, cut.other, levels)

    def is_cut(cut: Cut) -> bool:
        return all(side.is_whole and side.runs and side.start in (period.start, other.start) for side in sides(cut))

    befores = [partial(_before, level) for level in reversed(longest_first(known_for(period.start, levels)))]
    cut = cut_of(tiling.covered_until, period, other, befores, is_cut)
    return sides(cut) if cut else None


def _before(level: WindowLevel, time: int) -> int:
    return level.floor(time - 1)
