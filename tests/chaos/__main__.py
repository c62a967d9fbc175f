"""`make chaos`: every fault at every point, the matrix of what became of them, and how long recovery took.

A fault is done at all points one after the other, on one topic and one warehouse. If that fails,
each of its cells is played alone, to find the cell that failed.
"""

import argparse
import math
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from tests.chaos.budget import affordable
from tests.chaos.faults import FAULTS
from tests.chaos.library import why_not
from tests.chaos.play import Outcome, Play, Strike, perform
from tests.chaos.points import POINTS
from tests.chaos.report import as_table, columns_of, keep, kept_columns
from tests.support.evidence import run_now
from tests.support.kafka_cluster import Cluster, any_cluster
from tests.support.seeds import SEED
from tests.support.summary import Summary

# The matrix has a dozen columns, also where the width of the terminal is unknown.
_console = Console(soft_wrap=True, width=max(Console().width, 140))
_summary = Summary()


def main(arguments: Sequence[str] | None = None) -> int:
    """Plays the chosen cells; 0 if all are well, 1 if not, 2 where faults cannot be injected."""
    chosen = _parser().parse_args(arguments)
    if reason := why_not():
        _console.print(f"chaos: {reason}")
        return 2
    folder: Path = chosen.folder or Path(tempfile.mkdtemp(prefix="tidemark-chaos-"))
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        _console.print(f"chaos: {folder} is not empty; name another --folder")
        return 2
    points, faults = (_named(all_, names) for all_, names in ((POINTS, chosen.points), (FAULTS, chosen.faults)))
    run, outcomes = run_now(), list[Outcome]()
    affordable_faults = affordable(faults, kept_columns(), chosen.minutes, chosen.jobs)
    plays = [
        Play(tuple(Strike(point, fault) for point in points), chosen.minute, chosen.seed) for fault in affordable_faults
    ]
    _console.print(f"--seed {chosen.seed}, {len(plays)} of {len(faults)} columns")
    with any_cluster(folder / "broker") as broker:
        for number, played in enumerate(_played(plays, broker, folder, chosen.jobs), 1):
            keep(columns_of(played, run))
            outcomes += played
            _summary.count += len(played)
            _summary.write()
            _console.print(f"{number}/{len(plays)}")
    _console.print(as_table(columns_of(outcomes, run)))
    if all(outcome.error is None for outcome in outcomes):
        shutil.rmtree(folder)
        return 0
    return 1


def _played(plays: Sequence[Play], broker: Cluster, folder: Path, jobs: int) -> Iterator[list[Outcome]]:
    """The cells of each play, as it ends."""
    # The threads live as long as the pool, and what they start dies with them.
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(_cells, play, broker, folder) for play in plays]
        for done in as_completed(running):
            yield done.result()


def _cells(play: Play, broker: Cluster, folder: Path) -> list[Outcome]:
    """Plays the cells; if that fails, plays each alone. The cell at which the play failed has failed in any case."""
    outcome = _play_alone(play, broker, folder)
    if outcome.error is None:
        return outcome.cells
    if len(play.strikes) == 1:
        return [outcome]
    alone = [_play_alone(replace(play, strikes=(strike,)), broker, folder) for strike in play.strikes]
    alone[min(len(outcome.recoveries_s), len(alone) - 1)].error = outcome.error
    return alone


def _play_alone(play: Play, broker: Cluster, folder: Path) -> Outcome:
    """Plays, prints and returns the outcome; keeps the folder only after a failure."""
    name = play.strikes[0].name if len(play.strikes) == 1 else play.strikes[0].fault.name
    outcome = perform(play, broker, folder / name)
    if outcome.error is None:
        shutil.rmtree(folder / name)
        recovered = " ".join(f"{seconds:.1f}" for seconds in outcome.recoveries_s)
        _console.print(f"ok     {name}  recovered in {recovered} s, {outcome.lives} lives  ({outcome.seconds:.0f} s)")
        return outcome
    _summary.failures[name] = _command(play)
    _summary.write()
    _console.print(f"FAILED {name}  ({outcome.seconds:.0f} s)\n{outcome.error}", markup=False)
    _console.print(f"  see {folder / name}; again: {_command(play)}", markup=False)
    return outcome


def _command(play: Play) -> str:
    """Returns the command that repeats a play."""
    points = " ".join(strike.point.name for strike in play.strikes)
    chosen = f"--points {points} --faults {play.strikes[0].fault.name}"
    return f'make chaos ARGS="{chosen} --minute {play.minute:g} --seed {play.seed}"'


def _named(all_: Sequence, names: Sequence[str]) -> list:  # type: ignore[type-arg]
    return [each for each in all_ if not names or each.name in names]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make chaos", description="Every fault at every point; ARGS=... chooses.")
    add = parser.add_argument
    add("--points", nargs="+", default=[], choices=[point.name for point in POINTS], metavar="POINT")
    add("--faults", nargs="+", default=[], choices=[fault.name for fault in FAULTS], metavar="FAULT")
    add("--minute", type=float, default=60, metavar="SECONDS", help="how long what lasts a minute lasts (default 60)")
    add("--jobs", type=int, default=2, help="faults at a time (default 2)")
    add("--minutes", type=float, default=math.inf, help="play the oldest columns that fit into this time, and no other")
    add("--seed", type=int, default=SEED, help="of the site; by default another one each time")
    add("--folder", type=Path, help="an empty one; what fails stays there (default: a new one)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
