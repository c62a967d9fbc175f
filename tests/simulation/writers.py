"""Writers that take turns: each is a thread that runs only while it holds the baton, and returns it at each point."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum


class Fault(StrEnum):
    """The fate of a writer at one point; the other writers then run."""

    NONE = "none"
    """Nothing: it is paused until the others have finished."""
    REFUSED = "refused"
    """The store refuses the call."""
    LOST = "lost"
    """The store does it; its answer is lost, and arrives as an error after the others have finished."""
    LATE = "late"
    """The call is reported as failed; its commit lands later, if its version is then still free."""
    ENDS = "ends"
    """The process ends."""
    CLOCK = "clock"
    """The clock jumps by a day."""


class Ended(BaseException):
    """The process of a writer ends."""


@dataclass(frozen=True, slots=True)
class Point:
    """A call that may be stopped: the operation, the table, and whether it may write."""

    operation: str
    table: str
    writes: bool

    def __str__(self) -> str:
        return f"{self.operation} {self.table}"


@dataclass(slots=True)
class Step:
    """A point that a writer passed; part of the story of the run."""

    writer: str
    point: Point
    fault: Fault | None = None
    outcome: str = ""


@dataclass(slots=True)
class Held:
    """A commit that was reported as failed and lands before a later call on its table."""

    table: str
    land: Callable[[], bool]
    wait: int
    """Calls on the table that come before it."""
    landed: bool | None = None
    """None while it waits; False where another commit took its version."""

    def pass_by(self, table: str) -> bool:
        """Lands if it is its turn, given the table of the next call; returns whether it did."""
        if self.landed is not None or table != self.table:
            return False
        self.wait -= 1
        return self.wait < 0 and self.finish()

    def finish(self) -> bool:
        """Lands now, unless it did or its version was taken."""
        if self.landed is None:
            self.landed = self.land()
            return self.landed
        return False


@dataclass(slots=True)
class Stage:
    """State that the writers of a run share: the clock, the trace, and a commit that lands later."""

    now: int
    wait: int = 0
    """Calls on its table before a late commit lands."""
    trace: list[Step] = field(default_factory=list)
    held: Held | None = None
    has_landed: bool = False
    """Whether it landed while the writers were at work."""

    def before(self, point: Point) -> None:
        """Lets a late commit land if this is its turn."""
        if self.held and self.held.pass_by(point.table):
            self.trace.append(Step("the store", Point("LANDS", point.table, writes=True)))

    def close(self) -> None:
        """Lets a late commit land at last."""
        if self.held and self.held.finish():
            self.trace.append(Step("the store", Point("LANDS", self.held.table, writes=True)))


_LOCAL = threading.local()


def current() -> "Writer | None":
    """The writer of this thread; None outside a run, and inside a call that is a point itself."""
    writer: Writer | None = getattr(_LOCAL, "writer", None)
    return None if writer is None or writer.is_inside else writer


class Writer(threading.Thread):
    """A thread with the baton's rules; `faults` maps the index of a point to its fault."""

    def __init__(self, stage: Stage, name: str, work: Callable[[], object]) -> None:
        super().__init__(daemon=True, name=name)
        self.stage, self.faults = stage, dict[int, Fault]()
        self.passed: list[Point] = []
        self.error: BaseException | None = None
        self.is_inside = self.has_ended = self.was_killed = False
        self.looks = list[int]()
        """The lengths of the trace as an erasure began to look, after each pass, for rows that are left."""
        self._work = work
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)

    @property
    def kind(self) -> str:
        """Its name without a number."""
        return self.name.partition(" ")[0]

    def run(self) -> None:
        _LOCAL.writer = self
        self._go.acquire()
        try:
            self._work()
        except Ended:
            self.was_killed = True
        except BaseException as error:  # noqa: BLE001 - it is judged with the tables
            self.error = error
        self.has_ended = True
        self._stopped.release()

    def step(self) -> bool:
        """Lets it run to its next point; returns False once it has ended."""
        if not self.has_ended:
            self._go.release()
            self._stopped.acquire()
        return not self.has_ended

    def finish(self) -> None:
        """Lets it run to its end."""
        while self.step():
            pass

    def pause(self) -> None:
        """Returns the baton and waits for it; called by the writer itself."""
        self._stopped.release()
        self._go.acquire()

    def at(self, point: Point) -> Step:
        """Stops at a point, and returns the step with the fault of the point."""
        index = len(self.passed)
        self.passed.append(point)
        self.pause()
        step = Step(self.name, point, self.faults.get(index))
        if self.was_killed or step.fault is Fault.ENDS:
            self.stage.trace.append(step)
            self.was_killed = True
            raise Ended
        self.stage.before(point)
        self.stage.trace.append(step)
        return step

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Calls in this block are no points."""
        self.is_inside = True
        try:
            yield
        finally:
            self.is_inside = False
