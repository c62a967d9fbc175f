"""Searches interleavings of all writers of a warehouse: `python -m tests.simulation --help`."""

import argparse
import os
import sys
from collections.abc import Sequence

from tests.simulation.driver import by_chance, in_parallel, summary
from tests.simulation.mutations import MUTATIONS, mutation_summary
from tests.simulation.page import write_page
from tests.simulation.play import Plan, play, room
from tests.simulation.search import KINDS, Search, scenes_like
from tests.simulation.story import story


def main() -> int:
    """Plays what is asked for; returns the exit code."""
    asked = _arguments()
    if plans := [name for name in asked.names if ":" in name]:
        return _replay([Plan.parse(name) for name in plans], shows=asked.story)
    if asked.mutations:
        return _mutate(asked.names or [*MUTATIONS])
    kinds = asked.kinds.split(",") if asked.kinds else [*KINDS]
    scenes, tallies = scenes_like(asked.names), []
    if asked.minutes:
        searches = by_chance(scenes, asked.workers, asked.minutes)
    else:
        kinds = ["seed"] if asked.seeds else kinds
        wanted = [Search(scene, kind, range(asked.seeds), asked.every) for scene in scenes for kind in kinds]
        searches = in_parallel(wanted, asked.workers)
    for tally in searches:
        tallies.append(tally)
        _say(*summary(tally, asked.story))
    if asked.page:
        write_page(tallies)
    return int(any(tally.failures for tally in tallies))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="scenes (`start-*`), plans or mutations; all by default")
    parser.add_argument("--kinds", help=f"kinds of plans: {','.join(KINDS)}")
    parser.add_argument("--every", type=int, default=1, help="take one point in so many, for a look at many scenes")
    parser.add_argument("--seeds", type=int, default=0, help="random plans with more switches, for each scene")
    parser.add_argument("--minutes", type=float, default=0, help="random plans of all scenes for so long")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--story", type=int, default=1, help="stories of failing plans to print, of each kind and scene"
    )
    parser.add_argument("--mutations", action="store_true", help="take each protection back: the search must find it")
    parser.add_argument("--page", action="store_true", help="write docs/simulation.md of what was played")
    return parser.parse_args()


def _replay(plans: Sequence[Plan], *, shows: int) -> int:
    failed = 0
    for plan in plans:
        run = play(plan)
        failed += bool(run.findings)
        end = "WRONG" if run.findings else "right" if run.reached else "right, without this point"
        _say(*(story(run) if run.findings or shows else ()), f"{plan}: {end}")
    return int(failed > 0)


def _mutate(names: Sequence[str]) -> int:
    missed = 0
    for name in names:
        sentence = mutation_summary(name)
        missed += "NOT FOUND" in sentence
        _say(sentence)
    return int(missed > 0)


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    with room():
        code = main()
    sys.stdout.flush()
    os._exit(code)  # writers that were left in the midst of a run do not end by themselves
