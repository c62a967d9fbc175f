"""`make soak`: an hour of a steady stream with a kill every few minutes. What it costs must not grow.

At the end the warehouse is verified, also against what the producer says that it sent.
"""

import argparse
import json
import random
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from deltalake import DeltaTable
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console
from rich.table import Table

from benchmarks.measure import cpu_seconds, resident_bytes
from demo.broker import Broker
from demo.children import free_port
from tests.chaos.lives import processes_of
from tests.support.against_truth import assert_matches_truth, ledger_version
from tests.support.processes import Process, producers, tidemark
from tests.support.seeds import SEED
from tests.support.summary import Summary
from tests.support.waiting import wait_for
from tidemark.producers.truth import Truth

PATIENCE_S = 600
SAMPLE_S = 20
COLD_S = 60
COMPARED_FROM_MINUTES = 20
"""In a shorter run memory still grows to its size."""
GROWTH = 1.2
# As in production: a JVM of the other tests has compiled all that it can keep after a minute, and compiles no more.
DRIVER = {"TIDEMARK_SPARK__CONF": json.dumps({"spark.driver.memory": "1g"})}
RULES = (
    *("--window.size", "10s", "--time.bound", "2s", "--time.allowed-lateness", "5s", "--time.interval", "200ms"),
    *("--batch.interval", "500ms"),
)
DISORDER = (
    *("--users", "2000", "--jitter", "1s", "--late-share", "0.01", "--late-after", "30s"),
    *("--future-share", "0.002", "--malformed-share", "0.005"),
)


@dataclass(frozen=True)
class Sample:
    """The state of the service `minute` minutes after the start."""

    minute: float
    age: int
    """Age of the life, in samples."""
    batch_s: float | None
    """Measured over the batches since the last sample; empty in the first minute of a life, while Java is cold."""
    batch_cpu_s: float | None
    """CPU seconds of the service for each of them, upkeep included; others on the machine do not count."""
    java_mb: float
    python_mb: float
    files_by_table: dict[str, int]

    @property
    def files(self) -> int:
        return sum(self.files_by_table.values())


@dataclass
class Soak:
    """The stream, the warehouse and the lives so far."""

    folder: Path
    where: tuple[str, ...]
    port: int
    began: float = field(default_factory=time.monotonic)
    samples: list[Sample] = field(default_factory=list)
    starts: list[tuple[float, float]] = field(default_factory=list)
    """Minute and seconds from each start to its first new batch."""
    counted: tuple[float, float, float] = (0, 0, 0)
    """Number and seconds of the batches of this life up to its last sample, and CPU seconds of its processes."""

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse"

    @property
    def minute(self) -> float:
        return (time.monotonic() - self.began) / 60

    def live(self, seconds: float) -> None:
        """One life, sampled, and its end by SIGKILL."""
        self.counted = (0, 0, 0)
        log, before, began = self.folder / f"life-{len(self.starts)}.log", ledger_version(self.warehouse), self.minute
        with tidemark(log, "run", *self.where, *RULES, "--metrics.port", str(self.port), driver=DRIVER) as life:
            # The row that opens the epoch, and a batch.
            wait_for(lambda: ledger_version(self.warehouse) >= before + 2 or not life.alive, PATIENCE_S, "a batch")
            self.starts.append((began, (self.minute - began) * 60))
            warm, ends, first = time.monotonic() + COLD_S, time.monotonic() + seconds, len(self.samples)
            while time.monotonic() < ends:
                assert life.lives_for(min(SAMPLE_S, max(0.0, ends - time.monotonic()))), life.said[-2000:]
                is_warm = time.monotonic() - SAMPLE_S >= warm
                self.samples.append(self._sample(life, len(self.samples) - first, is_warm=is_warm))
            life.kill()

    def _sample(self, life: Process, age: int, *, is_warm: bool) -> Sample:
        python = life.popen.pid
        java = next(iter(processes_of(python, "java")))
        before, self.counted = self.counted, (*self._batches(), cpu_seconds(java, python))
        batches, *costs = (now - then for now, then in zip(self.counted, before, strict=True))
        batch_s, batch_cpu_s = (cost / batches if is_warm and batches else None for cost in costs)
        memory = resident_bytes(java) / 2**20, resident_bytes(python) / 2**20
        return Sample(self.minute, age, batch_s, batch_cpu_s, *memory, files_of(self.warehouse))

    def _batches(self) -> tuple[float, float]:
        """How many batches this life has had, and their seconds up to their commits."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as page:
            families = {one.name: one for one in text_string_to_metric_families(page.read().decode())}
        steps = families["tidemark_batch_duration_seconds"].samples
        sums = [one.value for one in steps if one.name.endswith("_sum") and one.labels["step"] != "publish"]
        counts = [one.value for one in steps if one.name.endswith("_count") and one.labels["step"] == "fold"]
        return sum(counts), sum(sums)


def files_of(warehouse: Path) -> dict[str, int]:
    """How many files the newest version of each table names."""
    return {path.name: len(DeltaTable(str(path)).file_uris()) for path in warehouse.iterdir() if path.is_dir()}


def ratios(soak: Soak, minutes: float) -> dict[str, float]:
    """Divides the last fifth by the fifth after ten minutes, or after a sixth of the time.

    Java gets faster for minutes, so what a batch takes is compared at the same ages of lives. Leaves out what has no
    samples of equal ages in both.
    """
    begin, span = minutes / 6, minutes / 10
    early = [one for one in soak.samples if begin <= one.minute < begin + 2 * span]
    late = [one for one in soak.samples if one.minute >= minutes - 2 * span]

    def by_age(part: Sequence[Sample], name: str) -> dict[int, float]:
        known = [(one.age, value) for one in part if (value := getattr(one, name)) is not None]
        return {age: mean(value for of, value in known if of == age) for age, _ in known}

    def ratio(name: str) -> float | None:
        was, now = by_age(early, name), by_age(late, name)
        both = was.keys() & now.keys()
        return sum(now[age] for age in both) / sum(was[age] for age in both) if both else None

    found = {name: ratio(name) for name in ("batch_s", "batch_cpu_s", "java_mb", "python_mb", "files")}
    first = [seconds for minute, seconds in soak.starts if minute <= begin + 2 * span][1:]
    last = [seconds for minute, seconds in soak.starts if minute >= minutes - 2 * span]
    found["start_s"] = mean(last) / mean(first) if first and last else None
    return {name: value for name, value in found.items() if value is not None}


def render(found: dict[str, float], soak: Soak) -> Table:
    """A row for each."""
    table = Table("at the end, of what it was after ten minutes", "ratio", title=f"{len(soak.starts)} lives")
    for name, ratio in found.items():
        table.add_row(name, f"{ratio:.2f}")
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 where something has grown by more than a fifth."""
    own = _parser().parse_args(arguments)
    again = f'make soak ARGS="--minutes {own.minutes:g} --kill-every {own.kill_every:g} --seed {own.seed}"'
    console, summary = Console(), Summary()
    console.print(again)
    with tempfile.TemporaryDirectory(prefix="tidemark-soak-") as folder, Broker(Path(folder) / "broker") as broker:
        broker.create_topic("soak", 4)
        where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", "soak")
        soak = Soak(Path(folder), (*where, "--warehouse", f"{folder}/warehouse"), free_port())
        truth = _lives(soak, where, own, summary)
        console.print(assert_matches_truth(soak.warehouse, truth))
    console.print("minute, age of the life in samples, seconds and CPU seconds of a batch, files:")
    for sample in soak.samples:
        batch = "cold" if sample.batch_s is None else f"{sample.batch_s:.3f} {sample.batch_cpu_s:.3f}"
        console.print(f"{sample.minute:5.1f} {sample.age:2} {batch}", str(sample.files_by_table))
    found = ratios(soak, soak.samples[-1].minute)
    console.print(render(found, soak))
    if own.minutes >= COMPARED_FROM_MINUTES:
        summary.failures = {f"{name} grew to {value:.2f}": again for name, value in found.items() if value > GROWTH}
    summary.write()
    return int(bool(summary.failures))


def _lives(soak: Soak, where: tuple[str, ...], own: argparse.Namespace, summary: Summary) -> Truth:
    """Has the service live and die while a site sends, and then read to the end; returns what was sent."""
    path, chance = soak.folder / "truth.json", random.Random(own.seed)
    sent = ("--rate", str(own.rate), "--truth", str(path), "--truth-window", "10s", "--seed", str(own.seed))
    with producers(soak.folder / "producers.log", "simulate", *where, *DISORDER, *sent) as site:
        while soak.minute < own.minutes:
            soak.live(chance.uniform(0.5, 1.5) * own.kill_every * 60)
            summary.count = len(soak.starts)
            summary.write()
        site.popen.terminate()
        assert site.wait(PATIENCE_S) == 0, site.said
    with tidemark(soak.folder / "last.log", "run", *soak.where, *RULES, "--until-caught-up") as last:
        assert last.wait(PATIENCE_S) == 0, last.said
    return Truth.load(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    add = parser.add_argument
    add("--minutes", type=float, default=60, help=f"growth counts from {COMPARED_FROM_MINUTES} on (default 60)")
    add("--kill-every", type=float, default=3, help="minutes, on the average")
    add("--rate", type=int, default=2000, help="events per second")
    add("--seed", type=int, default=SEED, help="of the events and the kills; another one each time")
    return parser


if __name__ == "__main__":
    sys.exit(main())
