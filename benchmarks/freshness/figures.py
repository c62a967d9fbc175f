"""From samples and ledger to the figures of a run. Pure: no broker, no service, no clock."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import mean
from typing import Any

from benchmarks.freshness.publications import Span
from benchmarks.freshness.records import percentile
from benchmarks.freshness.samples import Compilations, Memory, Samples

_SAMPLE_MS = 200  # a compilation is seen up to two samples after it happened


@dataclass(frozen=True)
class Slice:
    """A part of the run: ages of the records produced in it, in milliseconds, and what the service cost meanwhile.

    Of the memory, in bytes, the means; but of the heap the least, which is nearly what survives a collection. `steps`
    are the mean seconds of a step.
    """

    span: Span
    warm: bool
    records: int
    median_ms: int
    p99_ms: int
    max_ms: int
    batches: int
    memory: Memory | None
    steps: dict[str, float]


@dataclass(frozen=True)
class Compiled:
    """Classes compiled after the warm-up, during publication and outside, and what there was of both.

    `outside_at` are those outside by the milliseconds since the epoch at which they were seen.
    """

    publications: int
    in_publication: int
    batches: int
    outside_at: dict[int, int]
    batches_with_one: int

    @property
    def outside(self) -> int:
        """All outside."""
        return sum(self.outside_at.values())


@dataclass(frozen=True)
class Figures:
    """The whole run; the ages are of the records produced after the warm-up."""

    records: int
    median_ms: int
    p99_ms: int
    median_with_warm_up_ms: int
    p99_with_warm_up_ms: int
    compiled: Compiled
    slices: list[Slice]

    def to_dict(self) -> dict[str, Any]:
        """For the results file."""
        return asdict(self)


def compiled(
    samples: Sequence[Compilations], publishing: Sequence[Span], commits: Sequence[int], warm: Span
) -> Compiled:
    """Tells the compilations within `warm` apart; `commits` are the times of the batches' commits, in order."""
    inside, hit = 0, set()
    outside: dict[int, int] = {}
    for before, after in pairwise(samples):
        seen = Span(before.at, after.at + 1)
        if after.classes == before.classes or not warm.meets(seen):
            continue
        if any(Span(span.start, span.end + _SAMPLE_MS).meets(seen) for span in publishing):
            inside += after.classes - before.classes
        else:
            outside[after.at] = after.classes - before.classes
            hit.add(sum(commit < after.at for commit in commits))
    batches = sum(warm.start <= commit < warm.end for commit in commits)
    return Compiled(sum(span.meets(warm) for span in publishing), inside, batches, outside, len(hit))


def slices(
    ages: Counter[tuple[int, int]], spans: Sequence[Span], warm_from: int, samples: Samples, commits: Sequence[int]
) -> list[Slice]:
    """One per span; without those in which nothing was produced."""
    found = []
    for number, span in enumerate(spans):
        histogram = of_slices(ages, {number})
        if not histogram:
            continue
        found.append(
            Slice(
                span=span,
                warm=span.start >= warm_from,
                records=histogram.total(),
                median_ms=percentile(histogram, 0.5),
                p99_ms=percentile(histogram, 0.99),
                max_ms=max(histogram),
                batches=sum(span.start <= commit < span.end for commit in commits),
                memory=_memory(samples, span),
                steps=_steps(samples, span),
            )
        )
    return found


def of_slices(ages: Counter[tuple[int, int]], numbers: set[int]) -> Counter[int]:
    """Records by age, of some slices."""
    found: Counter[int] = Counter()
    for (number, age), records in ages.items():
        if number in numbers:
            found[age] += records
    return found


def _memory(samples: Samples, span: Span) -> Memory | None:
    inside = [sample for sample in samples.memory if span.start <= sample.at < span.end]
    if not inside:
        return None
    python, jvm = (round(mean(values)) for values in ([s.python for s in inside], [s.jvm for s in inside]))
    return Memory(span.start, python, jvm, min(sample.heap for sample in inside))


def _steps(samples: Samples, span: Span) -> dict[str, float]:
    inside = [sample for sample in samples.steps if span.start <= sample.at < span.end]
    if not inside:
        return {}
    first, last = inside[0].steps, inside[-1].steps
    differences = {step: (last[step][0] - first[step][0], last[step][1] - first[step][1]) for step in first}
    return {step: seconds / count for step, (count, seconds) in differences.items() if count}
