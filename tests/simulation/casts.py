"""A scene, and the cast of a run: the writers of the project."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.simulation import verbs
from tests.simulation.events import HOUR, MINUTE, NOON, Topic
from tests.simulation.rules import Rules
from tests.simulation.world import Process
from tests.simulation.writers import Stage, Writer

Work = Callable[[], object]
PUT_BACK: Final = NOON + 25 * MINUTE


@dataclass(frozen=True)
class Scene:
    """Writers that run on copies of one base; the first one meets the faults."""

    name: str
    writers: tuple[str, ...]
    topic: Topic
    rules: Rules
    other: Rules | None = None
    """The settings of a start with other settings."""
    batches: int = 1
    """Batches of the base that are published; -1 where there is no warehouse yet."""
    waiting: int = 1
    """Batches of the base that are committed and not published."""
    ends: bool = False
    """Whether the input ends after the batches of the base."""
    threads: bool = False
    """Whether the writers are threads of one process, between which two switches are tried."""

    @property
    def has(self) -> frozenset[str]:
        """The kinds of its writers."""
        return frozenset(self.writers)

    @property
    def erased(self) -> frozenset[str]:
        """The users that are erased."""
        return frozenset({"zed"}) if "erase" in self.has else frozenset()

    @property
    def known(self) -> dict[frozenset[str], Rules]:
        """Its settings by the names of their reports."""
        return {frozenset(one.names): one for one in (self.other or self.rules, self.rules)}

    def base(self, warehouse: str) -> Process:
        """Creates the first state of the warehouse, and the service that runs on it."""
        has_upkeep = "lagging" not in self.has
        process = Process(Stage(NOON), warehouse, self.topic, self.rules, has_upkeep=has_upkeep)
        if self.batches < 0:
            return process
        process.open()
        for place in range(self.batches + self.waiting):
            process.take(publishes=place < self.batches)
        if self.ends:
            process.end()
        return process


@dataclass
class Cast:
    """Makes the writers of a run."""

    scene: Scene
    stage: Stage
    warehouse: str
    base: Process
    processes: list[Process] = field(default_factory=list)
    thread: Process | None = None
    """The service of which several writers are threads."""

    def writers(self) -> list[Writer]:
        """The writers in order; a name that comes twice is numbered."""
        found = list[Writer]()
        for name in self.scene.writers:
            before = sum(one.name.split(" ")[0] == name for one in found)
            found.append(Writer(self.stage, f"{name} {before + 1}" if before else name, getattr(self, f"_{name}")()))
        return found

    def _running(self) -> Process:
        self.processes.append(self.base.on(self.stage, self.warehouse))
        return self.processes[-1]

    def _new(self, settings: Rules, offset_ms: int = 0) -> Process:
        process = Process(self.stage, self.warehouse, self.scene.topic, settings, has_upkeep=True, offset_ms=offset_ms)
        self.processes.append(process)
        return process

    def _service(self) -> Work:
        """A service that runs: a tick, and batches with publication and upkeep."""
        process = self._running()

        def batches() -> None:
            for _ in range(2):
                process.tick()
                if not process.is_done:
                    process.take()
            process.flush()

        return lambda: process.attempt(batches)

    def _lagging(self) -> Work:
        """A service whose upkeep of a batch comes after later batches, as that of a slow store does."""
        process = self._running()

        def batches() -> None:
            process.has_upkeep = False
            batch = process.take()
            process.take()
            process.tend(batch)

        return lambda: process.attempt(batches)

    def _start(self) -> Work:
        """A service starts and takes a batch."""
        process = self._new(self.scene.rules)
        return lambda: process.run(1)

    _old_start = _start
    """A service of version 0.1.0 starts and takes a batch."""

    def _other_start(self) -> Work:
        """A service with other settings starts and takes a batch."""
        process = self._new(self.scene.other or self.scene.rules)
        return lambda: process.run(1)

    def _ahead(self) -> Work:
        """A service starts on a host whose clock is an hour ahead."""
        process = self._new(self.scene.rules, HOUR)
        return lambda: process.run(2)

    def _behind(self) -> Work:
        """A service starts on a host whose clock shows an hour less."""
        process = self._new(self.scene.rules, -HOUR)
        return lambda: process.run(4)

    def _restart(self) -> Work:
        """A process whose attempt has failed starts again, as its supervisor has it."""
        process = self._running()
        return lambda: process.run(1)

    def _loop(self) -> Work:
        """The thread of the batch loop: it leaves publication and upkeep to the other thread."""
        process = self.thread = self.thread or self._running()

        def work() -> None:
            for place in range(3):
                if not process.is_done:
                    batch = process.take(publishes=False)
                    if place == 0:
                        process.pending = process.steps(batch), batch.batch_id

        return lambda: process.attempt(work, again=False)

    def _publisher(self) -> Work:
        """The publisher's thread: what is due, and a step of upkeep in between."""
        process = self.thread = self.thread or self._running()
        return lambda: process.attempt(process.publish_and_tend, again=False)

    def _correct(self) -> Work:
        return lambda: verbs.correct(self.warehouse, self.scene.rules)

    def _replay(self) -> Work:
        return lambda: verbs.replay(self.warehouse, self.scene.rules)

    def _erase(self) -> Work:
        return lambda: verbs.erase(self.warehouse, "zed")

    def _reset(self) -> Work:
        return lambda: verbs.reset(self.warehouse, PUT_BACK, PUT_BACK)

    def reset_again(self) -> Work:
        """An operator who was refused: to the earliest time that is allowed."""
        return lambda: verbs.reset(self.warehouse, None, PUT_BACK)

    def _age(self) -> Work:
        process = self._running()
        return lambda: verbs.age(process)

    def _verify(self) -> Work:
        return lambda: verbs.look(self.warehouse)
