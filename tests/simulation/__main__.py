"""Searches interleavings of all writers of a warehouse: `python -m tests.simulation --help`."""

import argparse
import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

from tests.simulation.driver import by_chance, in_parallel, lives, summary
from tests.simulation.life import LIFE
from tests.simulation.mutations import MUTATIONS, mutation_summary
from tests.simulation.page import kept_searches, oldest_first, write
from tests.simulation.play import Plan, play, room
from tests.simulation.search import KINDS, PAIRS, Search, Tally, scenes_like
from tests.simulation.story import story
from tests.support.evidence import run_now
from tests.support.seeds import SEED
from tests.support.summary import Summary

_ALL_NIGHT: Final = 10**6
"""More lives than a night has."""


def main() -> int:
    """Plays what is asked for; returns the exit code."""
    asked = _arguments()
    seeds = [int(name.removeprefix(LIFE)) for name in asked.names if name.startswith(LIFE)]
    plans = [Plan.parse(name) for name in asked.names if ":" in name and not name.startswith(LIFE)]
    if seeds or plans:
        codes = _replay(plans, shows=asked.story), _live(seeds, asked) if seeds else 0
        return max(codes)
    if asked.lives:
        return _live(range(asked.seed * 1000, asked.seed * 1000 + asked.lives), asked)
    if asked.mutations:
        return _mutate(asked.names or [*MUTATIONS])
    run, total, is_complete = run_now(), Summary(), asked.every == 1
    for tally in _searches(asked):
        _say(*summary(tally, asked.story))
        if asked.page and is_complete and tally.kind in KINDS:
            write(tally, run)
        total.count += tally.runs
        total.failures |= {plan: f'make simulate ARGS="{plan}"' for plan, _ in tally.failures}
        total.write()
    return int(bool(total.failures))


def _searches(asked: argparse.Namespace) -> Iterator[Tally]:
    """Searches what is asked for: random plans, or all plans of some kinds, those of longest ago first."""
    scenes, first = scenes_like(asked.names), asked.seed * 1000
    if asked.minutes:
        return by_chance(scenes, asked.kinds or "seed", asked.workers, asked.minutes, asked.seed)
    kinds = asked.kinds.split(",") if asked.kinds else ["seed"] if asked.seeds else [*KINDS]
    seeds = range(first, first + asked.seeds)
    wanted = [Search(scene, kind, seeds, asked.every) for scene in scenes for kind in kinds]
    return in_parallel(oldest_first(wanted, kept_searches()), asked.workers, asked.at_most)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="scenes (`start-*`), plans or mutations; all by default")
    parser.add_argument("--kinds", help=f"kinds of plans: {','.join(KINDS)}; `{PAIRS}` with seeds or minutes")
    parser.add_argument("--every", type=int, default=1, help="take one point in so many, for a look at many scenes")
    parser.add_argument("--seeds", type=int, default=0, help="random plans of each scene, with more switches")
    parser.add_argument("--seed", type=int, default=SEED, help="of the first random plan; another one each time")
    parser.add_argument("--minutes", type=float, default=0, help="random plans, or lives, for this time")
    parser.add_argument(
        "--at-most", type=float, default=math.inf, metavar="MINUTES", help="then no other search starts"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--story", type=int, default=1, help="stories of failing plans to print, of each kind and scene"
    )
    parser.add_argument(
        "--lives", type=int, nargs="?", const=_ALL_NIGHT, default=0, help="random lives of services, at most this many"
    )
    parser.add_argument("--mutations", action="store_true", help="take each protection back: the search must find it")
    parser.add_argument("--page", action="store_true", help="write what was played into docs/evidence.md")
    return parser.parse_args()


def _replay(plans: Sequence[Plan], *, shows: int) -> int:
    failed = 0
    for plan in plans:
        run = play(plan)
        failed += bool(run.findings)
        end = "WRONG" if run.findings else "right" if run.reached else "right, without this point"
        _say(*(story(run) if run.findings or shows else ()), f"{plan}: {end}")
    return int(failed > 0)


def _live(seeds: Sequence[int], asked: argparse.Namespace) -> int:
    """Plays the lives of some seeds, for some minutes at most, and prints those that end with wrong tables."""
    total, began = Summary(), time.monotonic()
    for life in lives(seeds, asked.workers, asked.minutes or math.inf):
        total.count += 1
        total.failures |= {life.name: f'make simulate ARGS="{life.name}"'} if life.findings else {}
        total.write()
        if life.findings or asked.names:
            _say(str(life))
    pace = f"{total.count / (time.monotonic() - began) * 60:.0f} a minute"
    right = total.count - len(total.failures)
    _say(f"{right} of {total.count} lives from seed {seeds[0]} on end with right tables ({pace})")
    return int(bool(total.failures))


def _mutate(names: Sequence[str]) -> int:
    total = Summary()
    for name in names:
        sentence = mutation_summary(name)
        if "NOT FOUND" in sentence:
            total.failures[name] = f'make simulate ARGS="--mutations {name}"'
        total.count += 1
        total.write()
        _say(sentence)
    return int(bool(total.failures))


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    with room():
        code = main()
    sys.stdout.flush()
    os._exit(code)  # writers that were left in the midst of a run do not end by themselves
