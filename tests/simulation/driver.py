"""Plays scenes in several processes, each of which makes the bases that it needs."""

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from typing import Final

from tests.simulation.play import Plan, play
from tests.simulation.search import Search, Tally
from tests.simulation.story import story

_ROUND: Final = 10
"""Seeds of each scene in a round."""


def in_parallel(searches: Iterable[Search], workers: int, minutes: float = math.inf) -> Iterator[Tally]:
    """Yields what came of each search, in the order in which they end; after `minutes` no other search starts."""
    until = time.time() + minutes * 60
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        for task in as_completed([pool.submit(_run, search, until) for search in searches]):
            if tally := task.result():
                yield tally
    except BaseException:
        # Without waiting, so that an interrupted search can remove its folder at once.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _run(search: Search, until: float) -> Tally | None:
    """Runs a search, unless it is too late; random plans also end between two of them. `until` is in Unix seconds."""
    return replace(search, until=until).run() if time.time() < until else None


def by_chance(scenes: Sequence[str], workers: int, minutes: float, seed: int) -> Iterator[Tally]:
    """Yields what came of random plans of all scenes, of new seeds in each round, until the time is over.

    The seeds of the plans start at a thousand times `seed`.
    """
    until, first = time.monotonic() + minutes * 60, seed * 1000
    while (left := until - time.monotonic()) > 0:
        seeds = range(first, first + _ROUND)
        yield from in_parallel([Search(scene, "seed", seeds) for scene in scenes], workers, left / 60)
        first += _ROUND


def summary(tally: Tally, stories: int) -> Iterator[str]:
    """A line for a tally, and the stories of its first failures of each sort."""
    if not tally.plans:
        return
    pace = f"{tally.runs / max(tally.seconds, 0.001) * 60:.0f} a minute"
    bad = f"{len(tally.failures)} WRONG" if tally.failures else "all right"
    yield f"{tally.scene} {tally.kind}: {tally.points} points, {tally.plans} plans, {tally.runs} runs ({pace}), {bad}"
    sorts = defaultdict[tuple[str, ...], list[str]](list)
    for plan, findings in tally.failures:
        sorts[tuple(sorted({finding.split(":")[0] for finding in findings}))].append(plan)
    for sort, plans in sorts.items():
        yield f"  {len(plans)} of {', '.join(sort)}: {' '.join(plans[:6])}"
        for plan in plans[:stories]:
            yield from (f"    {line}" for line in story(play(Plan.parse(plan))))
