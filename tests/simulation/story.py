"""The story of a run, for a reader: who did what at which point, the fault, and what is wrong."""

from collections.abc import Iterator
from dataclasses import replace
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
    if by_name := _by_name(run):
        yield f"  by the name of the point: {by_name}"
    for writer, steps in groupby(run.trace, key=lambda step: step.writer):
        lines = [line for step in steps if (line := _line(step))]
        if lines:
            yield f"  {writer}"
            yield from (f"    {line}" for line in lines)
    yield from (f"  ended with: {error}" for error in run.errors)
    yield from (f"  WRONG {finding}" for finding in run.findings)


def _by_name(run: Run) -> str:
    """Returns the id with the name of the point, which stays when other points come or go."""
    at = run.plan.at
    if not isinstance(at, int) or at >= len(run.first) or run.plan.fault == "seed":
        return ""
    point = run.first[at]
    times = run.first[: at + 1].count(point)
    return str(replace(run.plan, at=f"{point.operation}.{point.table}.{times}"))


def _line(step: Step) -> str:
    is_absent = step.outcome.startswith("TableNotFoundError")
    if step.fault is None and not step.point.writes and (is_absent or not step.outcome):
        return ""
    fault = f"   <-- {_SAID[step.fault]}" if step.fault else ""
    return f"{step.point}{fault}{'   ' + step.outcome if step.outcome else ''}"
