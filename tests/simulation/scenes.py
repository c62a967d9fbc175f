"""The scenes: which writers run against each other, over which events, by which settings."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tests.simulation import events, rules, verbs
from tests.simulation.events import MINUTE, NOON, Topic
from tests.simulation.rules import Rules
from tests.simulation.world import Process
from tests.simulation.writers import Stage, Writer

Work = Callable[[], object]
_WRONG: Final[Topic] = (
    events.events(
        "1ann 2bob 11bob 12ann 24cid 23bob 500wrong* 24.5ann 25dan 22ann 26cid 31ann 33cid 41bob 61cid 63ann 90cid"
    ),
)
"""A wrong clock takes the watermark to minute 500, while events of minute 22 and later come."""
_BACKFILL: Final[Topic] = (
    events.events("1ann 2bob 11bob 12ann 24cid 23bob 24.5ann 22dan 31ann 33cid 41bob 61cid 90cid"),
)
"""The input ends after minute 24, and then more of it comes."""
_STEPS: Final[Topic] = (
    events.events("0ann 0.2bob 0.4cid 5ann 5.1bob 5.2cid 2ann 5.3dan 5.4eve 14bob 14.1cid 14.2dan 40bob 41cid"),
)
"""An event of minute 2 comes when a session of the same user has closed before it and another one goes on after it."""
_HOUR_MS: Final = 60 * MINUTE
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

    def _other_start(self) -> Work:
        """A service with other settings starts and takes a batch."""
        process = self._new(self.scene.other or self.scene.rules)
        return lambda: process.run(1)

    def _ahead(self) -> Work:
        """A service starts on a host whose clock is an hour ahead."""
        process = self._new(self.scene.rules, _HOUR_MS)
        return lambda: process.run(2)

    def _behind(self) -> Work:
        """A service starts on a host whose clock is an hour behind."""
        process = self._new(self.scene.rules, -_HOUR_MS)
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


_KINDS: Final[Mapping[str, tuple[Topic, Rules]]] = {
    "grid": (events.ORDERED, rules.GRID),
    "slides": (events.LATE, rules.SLIDES),
    "sessions": (events.LATE, rules.SESSIONS),
    "counts": (events.ORDERED, rules.COUNTS),
    "totals": (events.ORDERED, rules.TOTALS),
    "unique": (events.PARTS, rules.UNIQUE),
    "mixed": (events.MIXED, rules.GRID),
    "visits": (events.MIXED, rules.SESSIONS),
    "people": (events.MIXED, rules.TOTALS),
    "crowd": (events.CROWD, rules.GRID),
    "crowd_visits": (events.CROWD, rules.SESSIONS),
    "crowd_people": (events.CROWD, rules.TOTALS),
    "crowd_pairs": (events.CROWD, rules.COUNTS),
    "aged": (events.MIXED, rules.AGED),
    "wrong": (_WRONG, rules.GRID),
    "wrong_visits": (_WRONG, rules.SESSIONS),
    "wrong_pairs": (_WRONG, rules.COUNTS),
    "wrong_people": (_WRONG, rules.TOTALS),
    "wrong_twice": ((events.repeated(_WRONG[0], 4, 11),), rules.UNIQUE),
    "steps": (_STEPS, rules.SESSIONS),
    "ended": (_BACKFILL, rules.GRID),
    "ended_visits": (_BACKFILL, rules.SESSIONS),
    "ended_twice": ((events.repeated(_BACKFILL[0], 4, 8),), rules.UNIQUE),
    "long": (events.WHOLE_VISIT, rules.SESSIONS),
}
"""Events and settings by a word."""


_BOTH: Final = replace(rules.GRID, shapes=(rules.VIEWS, rules.PAIRS))
_CHANGES: Final[Mapping[str, tuple[Rules, Rules, str]]] = {
    "more": (rules.GRID, _BOTH, "grid"),
    "fewer": (_BOTH, rules.GRID, "grid"),
    "counts_once": (replace(rules.UNIQUE, deduplicates=False), rules.UNIQUE, "unique"),
    "counts_again": (rules.UNIQUE, replace(rules.UNIQUE, deduplicates=False), "unique"),
    "adds_up": (rules.GRID, rules.TOTALS, "totals"),
    "adds_up_no_more": (rules.TOTALS, rules.GRID, "totals"),
}
"""Settings before and after a change of settings, and events, by a word."""


def _scene(writers: str, kind: str, **more: object) -> Scene:
    topic, settings = _KINDS[kind]
    return replace(Scene(f"{writers}.{kind}", tuple(writers.split("-")), topic, settings), **more)  # type: ignore[arg-type]


def _all() -> Iterator[Scene]:
    for kind in ("grid", "sessions", "counts", "totals", "unique"):
        yield from (_scene(pair, kind) for pair in ("start-start", "start-service", "service-start", "restart"))
        yield _scene("start-start-start", kind, batches=-1, waiting=0)
    for kind in ("long", "counts", "grid"):
        yield from (
            _scene(pair, kind, threads=True) for pair in ("loop-publisher-publisher", "publisher-loop-publisher")
        )
    for change, (first, second, kind) in _CHANGES.items():
        for pair in ("start-other_start", "other_start-start", "service-other_start", "other_start-service"):
            yield _changing(pair, change, kind, first, second)
        for verb in ("correct", "erase", "replay", "verify"):
            yield _changing(f"{verb}-other_start", change, "mixed", first, second, batches=2)
            yield _changing(f"other_start-{verb}", change, "mixed", first, second, batches=2)
    yield _changing("erase-other_start", "more", "crowd", *_CHANGES["more"][:2], batches=2)
    for three in ("other_start-reset-start", "reset-other_start-start"):
        visits = replace(rules.GRID, shapes=(rules.VIEWS, rules.VISITS))
        scene = _scene(three, "wrong", rules=visits, other=rules.GRID, batches=3, waiting=0)
        yield replace(scene, name=f"{three}.without_visits")
    yield from _amending()


def _changing(writers: str, change: str, kind: str, first: Rules, second: Rules, **more: object) -> Scene:
    scene = _scene(writers, kind, rules=first, other=second, **more)
    suffix = change if kind == _CHANGES[change][2] else f"{change}_{kind}"
    return replace(scene, name=f"{writers}.{suffix}")


def _amending() -> Iterator[Scene]:
    for verb, kinds in {
        "correct": ("mixed", "visits", "people", "slides"),
        "replay": ("mixed", "people"),
        "erase": ("mixed", "visits", "people"),
        "age": ("aged",),
        "reset": ("wrong", "wrong_visits", "wrong_pairs", "wrong_people", "wrong_twice"),
        "verify": ("mixed", "visits"),
    }.items():
        for kind in kinds:
            pairs = [f"{verb}-{other}" for other in ("service", "start")]
            pairs += [f"{other}-{verb}" for other in ("service", "start")]
            for pair in [*pairs, *([f"{verb}-{verb}"] if verb != "verify" else [])]:
                yield _scene(pair, kind, batches=2 + (verb == "reset"), waiting=int(verb != "reset"))
    for one, other, kind in (
        ("correct", "erase", "mixed"),
        ("correct", "erase", "visits"),
        ("replay", "erase", "mixed"),
        ("correct", "replay", "mixed"),
        ("correct", "age", "aged"),
        ("erase", "age", "aged"),
        ("correct", "reset", "wrong"),
        ("correct", "reset", "wrong_visits"),
        ("correct", "reset", "wrong_people"),
        ("erase", "reset", "wrong"),
        ("ahead", "reset", "wrong_visits"),
        ("ahead", "reset", "wrong_twice"),
        ("behind", "reset", "wrong_visits"),
        ("behind", "start", "wrong_twice"),
        ("ahead", "start", "wrong_twice"),
        ("lagging", "erase", "crowd"),
        ("lagging", "erase", "crowd_visits"),
        ("lagging", "erase", "crowd_people"),
        ("lagging", "erase", "crowd_pairs"),
        ("lagging", "correct", "visits"),
        ("verify", "erase", "mixed"),
        ("verify", "correct", "mixed"),
        ("verify", "reset", "wrong"),
    ):
        waiting = int(one not in ("lagging", "ahead", "behind"))
        # The fourth batch comes after the wrong clock, so its events are too late.
        batches = 4 if (one, other) == ("correct", "reset") else 2
        for pair in (f"{one}-{other}", f"{other}-{one}"):
            yield _scene(pair, kind, batches=batches, waiting=waiting)
    yield from _ended()


def _ended() -> Iterator[Scene]:
    """The end of the input, and three writers."""
    yield _scene("behind-start", "steps", batches=-1, waiting=0)
    for kind in ("ended", "ended_visits", "ended_twice"):
        for pair in ("reset-start", "start-reset", "start-start", "correct-reset", "reset-correct"):
            yield _scene(pair, kind, batches=2, waiting=0, ends=True)
    for three, kind in {
        "correct-erase-start": "mixed",
        "erase-correct-service": "visits",
        "replay-correct-erase": "people",
        "reset-correct-start": "wrong_visits",
        "correct-reset-service": "wrong",
        "start-age-correct": "aged",
        "verify-erase-start": "mixed",
    }.items():
        yield _scene(three, kind, batches=2 + 2 * ("reset" in three), waiting=int("reset" not in three))


SCENES: Final[Mapping[str, Scene]] = {scene.name: scene for scene in _all()}
