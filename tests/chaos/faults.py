"""Faults strike while a process is held at a point, or in the call that the point is."""

import errno
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from tests.chaos.lives import FAILED, PATIENCE_S, POINT, last_words
from tests.chaos.points import Point
from tests.chaos.rules import Action, Rule
from tests.chaos.scene import Scene
from tests.support.frozen import frozen
from tests.support.waiting import wait_for

REPLACED = "another service has opened epoch"


class Need(Enum):
    """A fault asks this of the scene."""

    OWN_BROKER = auto()
    """A broker that may be hurt, and no partition that falls silent by itself."""
    EXECUTORS = auto()
    """Spark on a cluster of processes."""


@dataclass(frozen=True)
class Fault:
    """Rules that bring the process to the point, and the act at the point."""

    name: str
    says: str
    strike: Callable[[Scene], None]
    rules: Callable[[Point], Sequence[Rule]] = lambda point: point.rules(Action.HOLD)
    need: Need | None = None


def _kill(scene: Scene) -> None:
    """The whole process group, as when a machine or a container goes."""
    scene.subject.process.kill()


def _terminate(scene: Scene) -> None:
    scene.subject.process.send(signal.SIGTERM)
    scene.subject.go()
    code = scene.subject.process.wait(PATIENCE_S)
    if scene.corrector is None:
        assert code == 0, f"SIGTERM ended it with exit code {code}: {last_words(scene.subject.process)}"
        scene.lives.start()


def _kill_java(scene: Scene) -> None:
    os.kill(scene.subject.java(), signal.SIGKILL)
    scene.subject.go()


def _kill_executor(scene: Scene) -> None:
    for executor in wait_for(scene.executors, PATIENCE_S, "an executor"):
        os.kill(executor, signal.SIGKILL)
    scene.subject.go()


def _kill_executors_for_a_minute(scene: Scene) -> None:
    """Each replacement that Spark starts works for at most one batch."""
    ends = time.monotonic() + scene.minute
    _kill_executor(scene)
    while time.monotonic() < ends:
        scene.lives.await_commits(1, PATIENCE_S)
        _kill_executor(scene)


def _freeze_broker(scene: Scene) -> None:
    with frozen(scene.own_broker):
        scene.subject.go()
        scene.lives.let_pass(scene.minute)


def _restart_broker(scene: Scene) -> None:
    """The producer sleeps meanwhile: librdkafka can lose the only broker of a cluster for good (decision 17)."""
    with scene.site.paused():
        scene.own_broker.stop()
        scene.subject.go()
        scene.own_broker.start()


def _add_partition(scene: Scene) -> None:
    scene.site.add_partition()
    scene.subject.go()


def _second_service(scene: Scene) -> None:
    subject, first, epoch = scene.subject, scene.lives.now, scene.epoch()
    second = scene.lives.start()
    wait_for(lambda: scene.epoch() > epoch or second.ended is not None, PATIENCE_S, "the second service's epoch")
    subject.go()
    code = first.process.wait(PATIENCE_S)
    assert code == FAILED, f"the first service ended with exit code {code}: {last_words(first.process)}"
    assert REPLACED in first.process.said, f"the first service did not say why: {last_words(first.process)}"


def _refused(error: int) -> Callable[[Point], Sequence[Rule]]:
    return lambda point: point.rules(Action.FAIL, error)


def _denied(point: Point) -> Sequence[Rule]:
    """A hard link that was made is answered as one that was there before."""
    return point.rules(Action.LIE, errno.EEXIST if point.at.op == "link" else errno.EIO)


def _outage(error: int, ops: str) -> Rule:
    """From the point on all such calls fail, whatever the file."""
    return Rule("outage", ops, "*", Action.FAIL, error, POINT, lasting=True)


def _lasting(outage: Rule) -> Callable[[Point], Sequence[Rule]]:
    return lambda point: [*point.rules(Action.FAIL, outage.error), outage]


def _for_a_minute(outage: Rule) -> Callable[[Scene], None]:
    def strike(scene: Scene) -> None:
        with scene.outage(outage):
            scene.lives.let_pass(scene.minute)

    return strike


def _at_once(_: Scene) -> None:
    """The rule was the fault."""


BROKEN = _outage(errno.EIO, "*")
FULL = _outage(errno.ENOSPC, "create,write,mkdir,link")
FAULTS = (
    Fault("kill", "SIGKILL of the driver and its JVM", _kill),
    Fault("kill-executor", "SIGKILL of every executor", _kill_executor, need=Need.EXECUTORS),
    Fault("terminate", "SIGTERM, then started again", _terminate),
    Fault("io-error", "an I/O error once", _at_once, _refused(errno.EIO)),
    Fault("io-error-minute", "I/O errors for a minute", _for_a_minute(BROKEN), _lasting(BROKEN)),
    Fault("disk-full", "a full disk for a minute", _for_a_minute(FULL), _lasting(FULL)),
    Fault("lie", "done, but reported as failed", _at_once, _denied),
    Fault("kill-java", "SIGKILL of the JVM", _kill_java),
    Fault("freeze-broker", "the broker stopped (SIGSTOP) for a minute", _freeze_broker, need=Need.OWN_BROKER),
    Fault("restart-broker", "the broker restarted", _restart_broker, need=Need.OWN_BROKER),
    Fault("add-partition", "a partition added", _add_partition, need=Need.OWN_BROKER),
    Fault("second-service", "a second service started", _second_service),
)
OFTEN: Final = Fault(
    "kill-executors-minute", "SIGKILL of every executor, in every batch of a minute", _kill_executors_for_a_minute,
    need=Need.EXECUTORS,
)  # fmt: skip
"""Only for the test suite, because executors write the files of all points except publication."""
