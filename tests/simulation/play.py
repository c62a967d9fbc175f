"""Plays one plan: the writers in the order of the plan, the services afterwards, and the judgement."""

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from tests.simulation import judge, verbs
from tests.simulation.casts import PUT_BACK, Cast, Scene
from tests.simulation.ending import judged
from tests.simulation.scenes import SCENES
from tests.simulation.stand_ins import prepare
from tests.simulation.world import Process
from tests.simulation.writers import Fault, Point, Stage, Step, Writer

ROOM: Final = "SIMULATION_ROOM"
"""The environment variable with the folder for all warehouses of a search."""
_DAY_MS: Final = 86_400_000
_SERVICE: Final = frozenset({"Replaced", "SetUpError", "Unreachable", "TransientError"})
_ALLOWED: Final = {
    "correct": {"TransientError"},
    "erase": {"SetUpError", "TransientError"},
    "replay": {"TransientError"},
    "reset": {"SetUpError"},
    "verify": set[str](),
}
"""Errors with which a verb may end, so that an operator repeats it; a service's are `_SERVICE`."""
_STORE: Final = frozenset(
    ["OSError", "DeltaError", "CommitFailedError", "TableNotFoundError", "FileNotFoundError", "ArrowInvalid"]
)
"""Errors of the store, which only a writer may have whose call it refused."""
_NEVER: Final = 10**9


@dataclass(frozen=True, slots=True)
class Plan:
    """The first writer is stopped at its point `at`, where a fault strikes; the others run.

    `more` is for a late commit the number of calls on its table that come before it, for two switches the number of
    points after which the first writer goes on, and for a random plan its seed.
    """

    scene: str
    fault: str
    at: int | str
    """The index of the point, or its name and which one of that name it is: `write.ledger.1`."""
    more: int = 0

    def __str__(self) -> str:
        more = [self.more] if self.fault in (Fault.LATE, "two") else []
        return ":".join(map(str, (self.scene, self.fault, self.at, *more)))

    @classmethod
    def parse(cls, text: str) -> "Plan":
        """The plan of an id."""
        scene, fault, at, *more = text.split(":")
        return cls(scene, fault, int(at) if at.isdigit() else at, *map(int, more))


@dataclass(slots=True)
class Run:
    """A plan that was played."""

    plan: Plan
    findings: list[str] = field(default_factory=list)
    trace: list[Step] = field(default_factory=list)
    first: list[Point] = field(default_factory=list)
    """The points of the first writer."""
    second: list[Point] = field(default_factory=list)
    """The points of the second writer."""
    landed: bool = False
    """Whether a late commit landed before a later call on its table."""
    first_name: str = ""
    """The name of the first writer."""
    is_new: bool = True
    """Whether no earlier run ended in the same state."""
    errors: list[str] = field(default_factory=list)
    reached: bool = True
    """Whether the first writer has the point of the plan."""


@dataclass(slots=True)
class _Base:
    scene: Scene
    warehouse: str
    process: Process
    judged: dict[str, list[str]] = field(default_factory=dict)
    """Findings by the state of the tables: after the writers, and after the services that followed."""


@cache
def base_of(scene: str) -> _Base:
    """The base of a scene, made once in a process."""
    prepare()
    verbs.without_spark()
    folder = tempfile.mkdtemp(dir=os.environ.get(ROOM))
    return _Base(SCENES[scene], folder, SCENES[scene].base(folder))


@contextmanager
def room() -> Iterator[None]:
    """Has all warehouses of this process, and of those that it starts, in a folder in memory, which goes in the end."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - the folder is made with a name of its own
    with tempfile.TemporaryDirectory(prefix="simulation-", dir=memory) as folder:
        os.environ[ROOM] = folder
        yield


def play(plan: Plan) -> Run:
    """Plays a plan on a copy of its scene's base."""
    base, run = base_of(plan.scene), Run(plan)
    warehouse = tempfile.mkdtemp(dir=os.environ.get(ROOM))
    try:
        shutil.copytree(base.warehouse, warehouse, dirs_exist_ok=True)
        stage = Stage(base.process.stage.now, plan.more if plan.fault == Fault.LATE else 0)
        cast = Cast(base.scene, stage, warehouse, base.process)
        writers = cast.writers()
        for writer in writers:
            writer.start()
        _order(plan, stage, writers)
        stage.has_landed = bool(stage.held and stage.held.landed)
        stage.close()
        run.trace, run.first = stage.trace, writers[0].passed
        run.reached = plan.fault == "seed" or _place(plan.at, writers[0].passed) is not None
        run.second = writers[1].passed if len(writers) > 1 else []
        run.first_name, run.landed = writers[0].name, stage.has_landed
        run.findings += [*_of_writers(cast, writers), *_of_the_last(cast, writers)]
        run.errors = [f"{writer.name}: {writer.error}" for writer in writers if writer.error]
        run.errors += [str(error)[:200] for process in cast.processes for error in process.errors]
        state = f"{judge.state_of(warehouse)} {stage.now}"
        run.is_new = state not in base.judged
        if run.is_new:
            base.judged[state] = list(judged(cast, base.judged))
        run.findings += base.judged[state]
    finally:
        shutil.rmtree(warehouse)
    return run


def _order(plan: Plan, stage: Stage, writers: list[Writer]) -> None:
    """Lets the writers run in the order of a plan."""
    # A thread that goes on after all others is the same one as before, so the two never run at once.
    rest = writers[-1:] if SCENES[plan.scene].threads else []
    first, *others = writers[: len(writers) - len(rest)]
    if plan.fault == "seed":
        _at_random(random.Random(plan.at), stage, [first, *others])
    else:
        _in_turn(plan, stage, first, others)
    for writer in rest:
        writer.finish()


def _in_turn(plan: Plan, stage: Stage, first: Writer, others: list[Writer]) -> None:
    """Lets the first writer run to its point; a fault; the others; and the first one again."""
    _go_to(first, plan.at)
    if plan.fault == Fault.CLOCK:
        stage.now += _DAY_MS
    elif plan.fault == "two":
        for _ in range(plan.more + 1):
            others[0].step()
        first.finish()
    elif plan.fault != Fault.NONE:
        first.faults = {len(first.passed) - 1: Fault(plan.fault)}
        first.step()  # the fault strikes; an answer that is lost is on its way until the others have finished
    for other in others:
        other.finish()
    first.finish()


def _go_to(writer: Writer, at: int | str) -> None:
    """Lets a writer run to a point, or to its end."""
    while writer.step() and _place(at, writer.passed) is None:
        pass


def _place(at: int | str, passed: list[Point]) -> int | None:
    """Returns the index of a point among those that a writer has come to; None if it has not come to it."""
    if isinstance(at, int):
        return at if at < len(passed) else None
    name, times = at.replace(".", " ", 1).rsplit(".", 1)
    places = [place for place, point in enumerate(passed) if str(point) == name]
    return places[int(times) - 1] if len(places) >= int(times) else None


def _at_random(chance: random.Random, stage: Stage, writers: list[Writer]) -> None:
    """Switches at points by chance, with a fault now and then."""
    stage.wait = chance.randrange(4)
    for writer in writers:
        if chance.random() < 0.5:
            writer.faults = {chance.randrange(80): Fault(chance.choice([*Fault]))}
    while alive := [writer for writer in writers if not writer.has_ended]:
        writer = chance.choice(alive)
        for _ in range(chance.choice((1, 2, 5, 20, 80))):
            writer.step()


def _of_writers(cast: Cast, writers: list[Writer]) -> Iterator[str]:
    """Errors that no plan explains, and services that gave up although no other had replaced them."""
    for writer in writers:
        if writer.error and type(writer.error).__name__ not in _allowed(writer, cast.scene):
            yield f"{writer.name}: {type(writer.error).__name__}: {str(writer.error)[:160]}"
        is_final = verbs.irrevocable(cast.warehouse, cast.scene.rules) > PUT_BACK
        if "published already" in str(writer.error) and not is_final:
            yield f"{writer.name}: it is refused, although no window that would open again is final"
    allowed = frozenset[str]().union(
        *(_allowed(writer, cast.scene) for writer in writers if writer.kind not in _ALLOWED)
    )
    for process in cast.processes:
        for error in process.errors:
            if type(error).__name__ not in allowed:
                yield f"a service: {type(error).__name__}: {str(error)[:160]}"
    ends = [process.errors[-1] for process in cast.processes if process.errors and not process.failed]
    all_ended = len(ends) == len(cast.processes) > 0 and {type(end).__name__ for end in ends} == {"Replaced"}
    if all_ended and not any(writer.was_killed for writer in writers) and "reset" not in cast.scene.has:
        yield f"every service has ended: {str(ends[0])[:120]}"


def _of_the_last(cast: Cast, writers: list[Writer]) -> Iterator[str]:
    """Rows that an erasure left, or for which it gave up, although all others had ended before its last pass."""
    by_name, trace = {writer.name: writer for writer in writers}, cast.stage.trace
    last = by_name.get(trace[-1].writer) if trace else None
    is_whole = not any(writer.faults or writer.was_killed for writer in writers)
    if not last or last.kind != "erase" or not is_whole:
        return
    gave_up = "keep coming" in str(last.error)
    look = [0, 0, *last.looks][-2 if gave_up else -1]
    if any(step.writer != last.name for step in trace[look:]):
        return
    if gave_up:
        yield f"{last.name}: it gives up, although no other has added rows: {last.error}"
    elif last.error is None:
        yield from judge.person_findings(cast.warehouse, cast.scene.erased)


def _allowed(writer: Writer, scene: Scene) -> frozenset[str]:
    """The errors that a writer may have: those of the store if a call was struck, or an erasure removed its files."""
    if writer.faults:
        return _STORE | _SERVICE
    loses_files = "erase" in scene.has and writer.kind != "verify"
    return frozenset(_ALLOWED.get(writer.kind, _SERVICE)) | (_STORE if loses_files else frozenset())
