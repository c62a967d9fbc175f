"""Plays scenes in several processes, each of which makes the bases that it needs."""

import math
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, as_completed, wait
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice, takewhile
from multiprocessing import get_context
from typing import Any, Final

from tests.simulation.life import Story, live
from tests.simulation.play import Plan, play
from tests.simulation.search import Search, Tally
from tests.simulation.story import story

_ROUND: Final = 10
"""Seeds of each scene in a round."""


def in_parallel(searches: Iterable[Search], workers: int, minutes: float = math.inf) -> Iterator[Tally]:
    """Yields what came of each search, in the order in which they end; after `minutes` no other search starts."""
    until = time.time() + minutes * 60
    with _ending(ProcessPoolExecutor(workers, get_context("spawn"))) as pool:
        for task in as_completed([pool.submit(_run, search, until) for search in searches]):
            if tally := task.result():
                yield tally


@contextmanager
def _ending(pool: ProcessPoolExecutor) -> Iterator[ProcessPoolExecutor]:
    """Waits for a pool in the end, but not after an error, so that an interrupted search can remove its folder."""
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _run(search: Search, until: float) -> Tally | None:
    """Runs a search, unless it is too late; random plans also end between two of them. `until` is in Unix seconds."""
    return replace(search, until=until).run() if time.time() < until else None


def by_chance(scenes: Sequence[str], kind: str, workers: int, minutes: float, seed: int) -> Iterator[Tally]:
    """Yields what came of random plans of all scenes, of new seeds in each round, until the time is over.

    `kind` is `seed`, or `pairs` for two switches. The seeds of the plans start at a thousand times `seed`.
    """
    until, first = time.monotonic() + minutes * 60, seed * 1000
    while (left := until - time.monotonic()) > 0:
        seeds = range(first, first + _ROUND)
        yield from in_parallel([Search(scene, kind, seeds) for scene in scenes], workers, left / 60)
        first += _ROUND


def lives(seeds: Iterable[int], workers: int, minutes: float = math.inf) -> Iterator[Story]:
    """Yields the lives of seeds as they end; after `minutes` no other life starts."""
    until = time.time() + minutes * 60
    left = takewhile(lambda _: time.time() < until, seeds)
    context = get_context("spawn")
    pinned = ProcessPoolExecutor(workers, context, _stay_on_a_core, (context.Value("i", 0),))
    with _ending(pinned) as pool:
        playing = {pool.submit(live, seed) for seed in islice(left, 2 * workers)}
        while playing:
            done, playing = wait(playing, return_when=FIRST_COMPLETED)
            playing |= {pool.submit(live, seed) for seed in islice(left, len(done))}
            yield from (task.result() for task in done)


def _stay_on_a_core(started: Any) -> None:
    """Keeps a process on one core, where delta-rs uses a quarter less CPU time. `started` counts the processes."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        with started.get_lock():
            started.value += 1
            os.sched_setaffinity(0, {cores[started.value % len(cores)]})


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
