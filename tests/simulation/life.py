"""Random lives: one service after the other, with whatever operators do between their batches, over random events."""

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.simulation import spares, verbs
from tests.simulation.casts import Cast, Scene
from tests.simulation.ending import after_a_life, wrong_views
from tests.simulation.events import HOUR, MINUTE, NOON
from tests.simulation.life_settings import random_rules, random_topic
from tests.simulation.play import ROOM
from tests.simulation.rules import Rules
from tests.simulation.stand_ins import prepare
from tests.simulation.world import Process
from tests.simulation.writers import Stage
from tidemark.pipeline.errors import SetUpError

LIFE: Final = "life:"
"""The name of a life is this and its seed."""


@dataclass
class Life:
    """A warehouse, and what came to it so far; a seed decides it all."""

    seed: int
    warehouse: str
    steps: list[str] = field(default_factory=list)
    """The steps so far."""
    findings: list[str] = field(default_factory=list)
    """Errors in live views after resets, and in all tables in the end."""

    def __post_init__(self) -> None:
        self._chance = Random(self.seed)
        self._topic = random_topic(self._chance)
        self._settings = random_rules(self._chance)
        self._changes_reports = self._settings[0].names != self._settings[1].names
        self._is_reset = False
        self._stage = Stage(NOON)
        self._process = self._start(0)
        self._done = set[str]()

    def run(self) -> None:
        """Lives a few steps, and is judged."""
        # Late events are added to the reports of now, and the model knows one list of them.
        steps = {name: step for name, step in _STEPS.items() if name not in _ADDING or not self._changes_reports}
        for _ in range(self._chance.randrange(4, 14)):
            step = self._chance.choices([*steps], [weight for weight, _ in steps.values()])[0]
            if step == "reset" and self._done & _ADDING:
                step = "batches"  # the model adds late events by what is final in the end
            self.steps.append(step)
            self._done.add(step)
            steps[step][1](self)
        if not verbs.was_reset(self.warehouse):
            self._done.discard("reset")
        self.findings += after_a_life(self._cast())

    def _cast(self) -> Cast:
        """Returns the cast of the end: the settings of its scene are those of the last services."""
        last = self._possible(0)
        (other,) = [settings for settings in self._settings if settings is not last]
        return Cast(
            Scene("life", tuple(self._done), self._topic, last, other), self._stage, self.warehouse, self._process
        )

    def _possible(self, which: int) -> Rules:
        """Returns the settings of a start; after a reset no start takes a report out.

        It would drop windows of which a wrong clock published rows: the model has no rows without panes.
        """
        by_reports = sorted(self._settings, key=lambda settings: len(settings.names))
        return by_reports[-1] if self._is_reset and self._changes_reports else self._settings[which]

    def _start(self, which: int) -> Process:
        offset = self._chance.choice((0, 0, 0, HOUR, -HOUR))
        has_upkeep = self._chance.random() < 0.7
        settings = self._possible(which)
        self.steps.append(f"start {sorted(settings.names)} by a clock {offset // MINUTE:+d} min")
        return Process(
            self._stage, self.warehouse, self._topic, settings, has_upkeep=has_upkeep, offset_ms=offset
        ).open()

    def batches(self) -> None:
        """Some batches."""
        for _ in range(self._chance.randrange(1, 4)):
            if not self._process.is_done:
                self._process.take(self._chance.choice((1, 2, 3, 5, 8)))

    def tick(self) -> None:
        """A minute passes."""
        self._process.tick()
        self._process.flush()

    def clock(self) -> None:
        """The clock of all hosts jumps."""
        self._stage.now += self._chance.choice((MINUTE, HOUR, 24 * HOUR, -HOUR))

    def start(self) -> None:
        """A service starts, on any host."""
        self._process = self._start(0)

    def other_start(self) -> None:
        """A service with other settings."""
        self._process = self._start(1)

    def end(self) -> None:
        """The end of the input."""
        self._process.end()

    def reset(self) -> None:
        """The watermark is lowered to the clock, if it may be, and a service starts."""
        try:
            verbs.reset(self.warehouse, None, self._stage.now)
            self._is_reset = True
        except SetUpError as error:
            self.steps.append(str(error)[:80])
        self._process = self._start(self._chance.randrange(2))
        self.findings += wrong_views(self._cast())

    def correct(self) -> None:
        """`tidemark correct`."""
        verbs.correct(self.warehouse, self._process.rules)

    def replay(self) -> None:
        """`tidemark replay`."""
        verbs.replay(self.warehouse, self._process.rules)

    def erase(self) -> None:
        """`tidemark erase`."""
        verbs.erase(self.warehouse, "zed")


_STEPS: Final[dict[str, tuple[int, Callable[[Life], None]]]] = {
    "batches": (8, Life.batches),
    "tick": (1, Life.tick),
    "clock": (1, Life.clock),
    "start": (2, Life.start),
    "other_start": (2, Life.other_start),
    "end": (1, Life.end),
    "reset": (2, Life.reset),
    "correct": (2, Life.correct),
    "replay": (1, Life.replay),
    "erase": (1, Life.erase),
}
"""How often each step comes, and what it is."""
_ADDING: Final = frozenset({"correct", "replay"})


@dataclass(frozen=True, slots=True)
class Story:
    """A life that has ended."""

    seed: int
    findings: list[str]
    steps: list[str]

    def __str__(self) -> str:
        end = "WRONG" if self.findings else "right"
        return "\n".join(
            (*self.findings, *([f"  {', '.join(self.steps)}"] if self.findings else []), f"{self.name}: {end}")
        )

    @property
    def name(self) -> str:
        """The argument that repeats it."""
        return f"{LIFE}{self.seed}"


def live(seed: int) -> Story:
    """Plays the life of a seed. Tables of this process use spare handles from now on."""
    prepare()
    spares.install()
    verbs.without_spark()
    warehouse, steps = tempfile.mkdtemp(dir=os.environ.get(ROOM)), list[str]()
    try:
        life = Life(seed, warehouse, steps)
        life.run()
        return Story(seed, life.findings, steps)
    except Exception as error:  # noqa: BLE001 - any error is reported
        return Story(seed, [f"{type(error).__name__}: {str(error)[:300]}"], steps)
    finally:
        shutil.rmtree(warehouse)
        spares.forget()
