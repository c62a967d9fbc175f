"""Random lives: one service after the other, with whatever operators do between their batches, over random events."""

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from pipeline.errors import SetUpError
from tests.simulation import rules, verbs
from tests.simulation.casts import Cast, Scene
from tests.simulation.ending import judged
from tests.simulation.events import HOUR, MINUTE, NOON, Event, Topic
from tests.simulation.play import ROOM
from tests.simulation.rules import Rules
from tests.simulation.stand_ins import prepare
from tests.simulation.world import Process
from tests.simulation.writers import Stage

_GAPS: Final = (0, 0.2, 0.5, 1, 3, 8, 20)
_LATENESS: Final = (0, 0, 0, 0, 1, 2, 5, 15)
_WRONG_MIN: Final = 500


@dataclass
class Life:
    """A warehouse, and what came to it so far; a seed decides it all."""

    seed: int
    warehouse: str
    steps: list[str] = field(default_factory=list)
    """The steps so far."""

    def __post_init__(self) -> None:
        self._chance = Random(self.seed)
        self._topic = _topic(self._chance)
        self._settings = _settings(self._chance)
        self._changes_reports = self._settings[0].names != self._settings[1].names
        self._stage = Stage(NOON)
        self._process = self._start(0)

    def run(self) -> list[str]:
        """Lives a few steps; returns what is wrong in the end."""
        done = set[str]()
        # Late events are added to the reports of now, and the model knows one list of them.
        steps = {name: step for name, step in _STEPS.items() if name != "correct" or not self._changes_reports}
        for _ in range(self._chance.randrange(4, 14)):
            step = self._chance.choices([*steps], [weight for weight, _ in steps.values()])[0]
            self.steps.append(step)
            steps[step][1](self)
            done.add(step)
        if not verbs.was_reset(self.warehouse):
            done.discard("reset")
        first, other = self._settings
        scene = Scene("life", tuple(done), self._topic, first, other)
        return list(judged(Cast(scene, self._stage, self.warehouse, self._process), {}))

    def _start(self, which: int) -> Process:
        offset = self._chance.choice((0, 0, 0, HOUR, -HOUR))
        has_upkeep = self._chance.random() < 0.7
        settings = self._settings[which]
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
        except SetUpError as error:
            self.steps.append(str(error)[:80])
        self._process = self._start(self._chance.randrange(2))

    def correct(self) -> None:
        """`tidemark correct`."""
        verbs.correct(self.warehouse, self._process.rules)

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
    "erase": (1, Life.erase),
}
"""How often each step comes, and what it is."""


def live(seed: int) -> tuple[list[str], list[str]]:
    """Returns what is wrong after the life of a seed, and its steps."""
    prepare()
    verbs.without_spark()
    warehouse = tempfile.mkdtemp(dir=os.environ.get(ROOM))
    try:
        life = Life(seed, warehouse)
        return life.run(), life.steps
    finally:
        shutil.rmtree(warehouse)


def _topic(chance: Random) -> Topic:
    minute, partitions = 0.0, chance.choice((1, 1, 2))
    events = list[Event]()
    for number in range(chance.randrange(12, 36)):
        minute += chance.choice(_GAPS)
        if events and chance.random() < 0.06:
            events.append(chance.choice(events))
            continue
        is_ahead = chance.random() < 0.03
        late = -_WRONG_MIN if is_ahead else chance.choice(_LATENESS)
        events.append(
            Event(
                max(minute - late, 0),
                chance.choice(("ann", "bob", "cid", "zed")),
                number + 1,
                is_malformed=chance.random() < 0.04,
                is_future=chance.random() < 0.04,
                is_ahead=is_ahead,
            )
        )
    return tuple(tuple(events[partition::partitions]) for partition in range(partitions))


def _settings(chance: Random) -> tuple[Rules, Rules]:
    """Two settings: they differ by a report, by totals, or by deduplication."""
    views = chance.choice((rules.VIEWS, rules.LENIENT, rules.SLIDING))
    shapes = [views, *(shape for shape in (rules.VISITS, rules.PAIRS) if chance.random() < 0.5)]
    one = Rules(tuple(shapes), has_totals=chance.random() < 0.3, deduplicates=chance.random() < 0.4)
    fewer = replace(one, shapes=one.shapes[1:]) if len(one.shapes) > 1 else replace(one, has_totals=not one.has_totals)
    other = chance.choice(
        (fewer, replace(one, has_totals=not one.has_totals), replace(one, deduplicates=not one.deduplicates))
    )
    return (one, other) if chance.random() < 0.5 else (other, one)
