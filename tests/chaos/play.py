"""Faults at points, on a topic and a warehouse of their own, from the first record to the verdict."""

import json
import time
import traceback
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from demo.broker import Broker
from demo.standalone import CLOSED, HOST
from tests.chaos.faults import Fault, Need
from tests.chaos.growth import can_grow, scatter
from tests.chaos.lives import PATIENCE_S, Command, Lives, last_words
from tests.chaos.points import AFTER_WRITES, Approach, Point
from tests.chaos.rules import Action
from tests.chaos.scene import Scene
from tests.chaos.site import SILENCE, WINDOW, Site
from tests.chaos.verdict import assert_well
from tests.cluster.standalone import cluster_without_python
from tests.support.against_truth import ledger_version
from tests.support.brief_java import BRIEF_DRIVER, BRIEF_JVM
from tests.support.kafka_cluster import Cluster
from tests.support.waiting import wait_for
from tests.support.warehouse import rows

FIRST_COMMITS = 4
RECOVERED = 2
"""The first commit after a fault is of the batch that was in hand, or opens an epoch; the next one is new work."""
FURTHER = 2
RULES = (
    *("--window.size", WINDOW, "--time.bound", "1s", "--time.allowed-lateness", "1s", "--time.interval", "200ms"),
    *("--batch.interval", "200ms", "--metrics.port", "0"),
)
ON_A_CLUSTER = {
    **CLOSED,
    "spark.cores.max": "1",  # the other worker's is for `correct`
    "spark.driver.host": HOST,
    "spark.executor.memory": "600m",
    **BRIEF_DRIVER,
    "spark.executor.defaultJavaOptions": BRIEF_JVM,
}


@dataclass(frozen=True)
class Strike:
    """A fault at a point."""

    point: Point
    fault: Fault

    @property
    def name(self) -> str:
        """As a folder may be called."""
        return f"{self.point.name}.{self.fault.name}"


@dataclass(frozen=True)
class Play:
    """Strikes one after the other, on one topic and one warehouse; the same seed sends the same events."""

    strikes: tuple[Strike, ...]
    minute: float
    seed: int
    options: tuple[str, ...] = ()
    """Options of the service in addition to `RULES`."""


@dataclass
class Outcome:
    """How far a play came, and what became of it."""

    play: Play
    stage: str = "setting up"
    recoveries_s: list[float] = field(default_factory=list)
    """Time from the start of each fault until new work is committed after its end."""
    lives: int = 0
    error: str | None = None
    seconds: float = 0

    @property
    def cells(self) -> list["Outcome"]:
        """An outcome for each strike of a play that went well; the lives are those of the whole play."""
        return [
            replace(self, play=replace(self.play, strikes=(strike,)), recoveries_s=[recovery])
            for strike, recovery in zip(self.play.strikes, self.recoveries_s, strict=True)
        ]


def perform(play: Play, broker: Cluster, folder: Path) -> Outcome:
    """Returns what became of a play; raises nothing of its own, but writes down in `folder` what it met."""
    began, outcome = time.monotonic(), Outcome(play)
    try:
        with ExitStack() as stack:
            _perform(_scene(play, broker, folder, stack), outcome)
    except Exception as error:  # noqa: BLE001 - one that fails must not end the others
        (folder / "error.txt").write_text(traceback.format_exc())
        # Outside of pytest an assertion does not say what it held to be true.
        said = str(error) or f"not so: {traceback.extract_tb(error.__traceback__)[-1].line}"
        outcome.error = f"{outcome.stage}: {said}"
    outcome.seconds = time.monotonic() - began
    return outcome


def _scene(play: Play, shared: Cluster, folder: Path, stack: ExitStack) -> Scene:
    """All that the play needs, nothing of it at work yet but brokers and clusters."""
    folder.mkdir(parents=True)
    needs = {strike.fault.need for strike in play.strikes}
    broker = stack.enter_context(Broker(folder / "broker")) if Need.OWN_BROKER in needs else None
    spark = stack.enter_context(cluster_without_python(folder / "spark")) if Need.EXECUTORS in needs else None
    kafka = Cluster(broker.bootstrap_servers) if broker else shared
    site = Site(kafka, f"chaos-{uuid.uuid4().hex[:8]}", folder, play.seed, () if broker else SILENCE, stack)
    # While a broker is away its partitions are silent, and the first partition that is back would make the others late.
    idle = ("--time.idle-timeout", "1h" if broker else "5s")
    options = (*site.where, *RULES, *idle, *(("--spark.master", spark.url) if spark else ()), *play.options)
    environment = {"TIDEMARK_SPARK__CONF": json.dumps(ON_A_CLUSTER)} if spark else {}
    return Scene(site, Lives(folder, options, environment, stack, producers=site.processes), play.minute, broker, spark)


def _perform(scene: Scene, outcome: Outcome) -> None:
    lives = scene.lives
    scene.site.open()
    lives.start()
    lives.await_commits(FIRST_COMMITS, PATIENCE_S)
    for strike in outcome.play.strikes:
        _strike(scene, strike, outcome)
    outcome.stage = "reading to the end"
    truth = scene.site.truth()
    sent = sum(truth.sent.values())
    lives.wait_for(_Read(lives.warehouse, sent), PATIENCE_S, f"the commit of {sent} records")
    lives.stop(PATIENCE_S)
    outcome.stage, outcome.lives = "the verdict", len(lives.lives)
    assert_well(lives.warehouse, truth)


def _strike(scene: Scene, strike: Strike, outcome: Outcome) -> None:
    outcome.stage = f"on the way to {strike.point.name}"
    _approach(scene, strike)
    began = time.monotonic()
    outcome.stage = f"at {strike.point.name}, {strike.fault.name}"
    strike.fault.strike(scene)
    outcome.stage = f"recovering from {strike.fault.name}"
    scene.lives.await_commits(RECOVERED, PATIENCE_S)
    outcome.recoveries_s.append(time.monotonic() - began)
    scene.lives.await_commits(FURTHER, PATIENCE_S)
    if scene.corrector:
        _finish(scene, scene.corrector)
        scene.corrector = None


def _approach(scene: Scene, strike: Strike) -> None:
    """Returns when the process is at the point."""
    lives, point, rules = scene.lives, strike.point, strike.fault.rules(strike.point)
    if point.approach is Approach.AT_WORK:
        scene.victim = lives.now
        scene.victim.faults.set(rules)
    if point.approach is Approach.START:
        _leave_a_void_batch(scene)
        scene.victim = lives.start(rules)
    if point.approach is Approach.GROWN:
        lives.wait_for(lambda: can_grow(lives.warehouse), PATIENCE_S, "closed panes, and dead letters enough")
        # In good order: a void batch would be removed at the start, and be taken for the compaction of panes.
        lives.stop(PATIENCE_S)
        scatter(lives.warehouse, "dead_letters")
        scene.victim = lives.start(rules)
    if point.approach is Approach.CORRECT:
        lives.wait_for(lambda: _has_late(lives.warehouse), PATIENCE_S, "a too-late event")
        scene.victim = scene.corrector = lives.command("correct", "correct", rules=rules)
    wait_for(lambda: scene.reached() or scene.subject.ended is not None, PATIENCE_S, "the point")
    assert scene.reached(), f"it ended before the point: {last_words(scene.subject.process)}"


def _leave_a_void_batch(scene: Scene) -> None:
    scene.victim = scene.lives.now
    scene.victim.faults.set(AFTER_WRITES.rules(Action.HOLD))
    wait_for(scene.reached, PATIENCE_S, "the batch that is to be void")
    scene.victim.process.kill()


def _has_late(warehouse: Path) -> bool:
    """Whether a correction would find something: a dead letter of a batch, and windows that were published."""
    late = any(row["reason"] == "too_late" for row in rows(warehouse, "dead_letters"))
    return late and ledger_version(warehouse) > FIRST_COMMITS and bool(rows(warehouse, "page_views"))


def _finish(scene: Scene, corrector: Command) -> None:
    """A correction that was hurt may fail; done again it is done."""
    if corrector.process.wait(PATIENCE_S):
        again = scene.lives.command("correct-again", "correct")
        assert again.process.wait(PATIENCE_S) == 0, last_words(again.process)


class _Read:
    """Whether this number of records is committed; reads the table only when it has changed."""

    def __init__(self, warehouse: Path, sent: int) -> None:
        self._warehouse, self._sent = warehouse, sent
        self._version, self._read = -1, 0

    def __call__(self) -> bool:
        version = ledger_version(self._warehouse)
        if version != self._version:
            self._version = version
            self._read = sum(row["records"] for row in rows(self._warehouse, "ledger"))
        assert self._read <= self._sent, f"{self._read} records are committed of {self._sent} that were sent"
        return self._read == self._sent
