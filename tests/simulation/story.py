"""The story of a run, for a reader: who did what at which point, the fault, and what is wrong."""

from collections.abc import Iterator
from itertools import groupby

from tests.simulation.play import Run
from tests.simulation.scenes import SCENES
from tests.simulation.writers import Fault, Step

_SAID = {
    Fault.NONE: "is paused until the others have finished",
    Fault.REFUSED: "the store refuses",
    Fault.LOST: "it is done, and the answer is lost",
    Fault.LATE: "it is reported as failed, and lands later",
    Fault.ENDS: "the process ends here",
    Fault.CLOCK: "the clock jumps by a day",
}


def story(run: Run) -> Iterator[str]:
    """The lines of the story. Reads are shown only where a fault or an error belongs to them."""
    scene = SCENES[run.plan.scene]
    yield f"{run.plan}: {' and '.join(scene.writers)} on a warehouse of {max(0, scene.batches + scene.waiting)} batches"
    for writer, steps in groupby(run.trace, key=lambda step: step.writer):
        told = [line for step in steps if (line := _line(step))]
        if told:
            yield f"  {writer}"
            yield from (f"    {line}" for line in told)
    yield from (f"  ended with: {error}" for error in run.errors)
    yield from (f"  WRONG {finding}" for finding in run.findings)


def _line(step: Step) -> str:
    if step.fault is None and not step.point.writes and not step.outcome:
        return ""
    fault = f"   <-- {_SAID[step.fault]}" if step.fault else ""
    return f"{step.point}{fault}{'   ' + step.outcome if step.outcome else ''}"
