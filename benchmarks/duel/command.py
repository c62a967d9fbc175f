"""The command line of the duel: `python -m benchmarks.duel`."""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from benchmarks import results
from benchmarks.duel.bout import fight
from benchmarks.duel.contestant import Arena, Contestant
from benchmarks.duel.duel_report import FAILURE, options_table, results_table
from benchmarks.duel.flink import FlinkDataStream, FlinkSql
from benchmarks.duel.judgement import summary
from benchmarks.duel.quix import Quix
from benchmarks.duel.scenario import PARTITIONS, Scenario, scenario
from benchmarks.duel.spark import Textbook
from benchmarks.duel.streams import KafkaStreams
from benchmarks.duel.tidemark import Tidemark
from benchmarks.errors import BenchmarkError
from demo.broker import Broker
from tidemark.pipeline.errors import SetUpError

CONTESTANTS: Final[tuple[type[Contestant], ...]] = (Tidemark, Textbook, FlinkDataStream, FlinkSql, Quix, KafkaStreams)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the duel; returns 1 if a contestant could not run. A wrong result is a result, not a failure."""
    options = _parser().parse_args(arguments)
    contestants, console = _chosen(options.only), Console()
    with tempfile.TemporaryDirectory(prefix="tidemark-duel-") as folder:
        outcomes = _run(contestants, Path(options.keep or folder).absolute(), options.events, options.seconds, console)
    console.print(options_table(contestants), results_table(outcomes))
    console.print(f"results: {results.write(vars(options), {'duel': outcomes})}", soft_wrap=True)
    return int(any(FAILURE in outcome for outcome in outcomes.values()))


def _parser() -> argparse.ArgumentParser:
    names = ",".join(kind.name for kind in CONTESTANTS)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.duel", description=__doc__)
    parser.add_argument("--only", default=names, help=f"contestants (default {names})")
    parser.add_argument("--events", type=int, default=200_000, help="events on the topic (default 200000)")
    parser.add_argument("--seconds", type=float, default=90, help="how long writing takes, per contestant (default 90)")
    parser.add_argument("--keep", metavar="FOLDER", help="new folder that keeps the logs and tables of the contestants")
    return parser


def _chosen(names: str) -> list[type[Contestant]]:
    """Returns the contestants of a comma-separated list. Raises SystemExit for an unknown name."""
    known = {kind.name: kind for kind in CONTESTANTS}
    if unknown := set(names.split(",")) - set(known):
        raise SystemExit(f"unknown contestant {', '.join(sorted(unknown))}; expected some of {','.join(known)}")
    return [known[name] for name in known if name in names.split(",")]


def _run(
    contestants: Sequence[type[Contestant]], work: Path, events: int, seconds: float, console: Console
) -> dict[str, dict[str, Any]]:
    """Returns the outcome of each contestant, by title. All get the same records, each on a topic of its own."""
    outcomes = {}
    play = scenario(events, time.time_ns() // 1_000_000)
    with Broker(work / "kafka") as broker:
        for kind in contestants:
            console.print(f"{kind.title} ...")
            broker.create_topic(f"duel-{kind.name}", PARTITIONS)
            arena = Arena(broker.bootstrap_servers, f"duel-{kind.name}", work / kind.name)
            arena.folder.mkdir(parents=True)
            outcome = outcomes[kind.title] = _outcome(kind(arena), play, seconds)
            console.print(outcome.get(FAILURE) or outcome["summary"], soft_wrap=True)
    return outcomes


def _outcome(contestant: Contestant, play: Scenario, seconds: float) -> dict[str, Any]:
    try:
        verdicts, cpu_seconds = fight(contestant, play, seconds)
    except (BenchmarkError, SetUpError) as error:
        return {FAILURE: str(error)}
    return {
        "summary": asdict(summary(verdicts)),
        "classes": {kind: {**asdict(verdict), "silent": verdict.silent} for kind, verdict in verdicts.items()},
        "cpu_us_per_record": cpu_seconds / len(play.records) * 1e6,
        "options": contestant.options,
    }
