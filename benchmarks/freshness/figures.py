"""Computes the figures of a run from records, ledger, samples and the log of a result; no broker, service or clock."""

import json
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pyarrow as pa

from tidemark.pipeline.tables.schemas import PAGE_VIEWS
from tidemark.pipeline.tables.transactions import PUBLISHED_APP

_SAMPLE_MS = 200  # a compilation is noticed up to two samples later


class Span(NamedTuple):
    """[start, end) in milliseconds since 1970."""

    start: int
    end: int

    def has(self, time: int) -> bool:
        """Returns whether `time` lies in the span."""
        return self.start <= time < self.end

    def meets(self, other: "Span") -> bool:
        """Returns whether the spans overlap."""
        return self.start < other.end and other.start < self.end


class Memory(NamedTuple):
    """Bytes: resident memory of Python and of the JVM, and used heap of the JVM, including garbage."""

    python: int
    jvm: int
    heap: int


class Sample(NamedTuple):
    """A sample of the service, `at` milliseconds since 1970; a value of None was not sampled.

    `classes` is the number of classes that Spark has compiled so far; `steps`, from the metrics page, are count and
    total seconds of each step of a batch so far; `cpu_s` are the CPU seconds of Python and the JVM so far.
    """

    at: int
    classes: int
    memory: Memory | None = None
    steps: dict[str, tuple[float, float]] | None = None
    cpu_s: float | None = None


@dataclass(frozen=True)
class Load:
    """The load: `rate` events per second of `users` users. `interval_ms` is the service's `batch.interval`."""

    rate: int
    users: int
    warm_up_ms: int
    duration_ms: int
    slice_ms: int
    interval_ms: int = 1_000

    def __str__(self) -> str:
        return f"{self.rate:,} events/s of {self.users:,} users, batch.interval {self.interval_ms / 1000:g} s"


class Record(NamedTuple):
    """A record on Kafka; its timestamp in milliseconds."""

    partition: int
    offset: int
    timestamp: int


@dataclass(frozen=True)
class Slice:
    """A slice of the run: ages of the records produced in it, in milliseconds, and the cost of the service.

    `memory` has means in bytes, but the minimum of the heap, which is close to the live objects. `steps` are the mean
    seconds of a step.
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
    """Classes compiled after the warm-up, in `publications` publications and outside of them in `batches` batches.

    `outside_at` has the number of classes compiled outside by the time of the sample, in milliseconds since 1970.
    """

    publications: int
    in_publication: int
    batches: int
    outside_at: dict[int, int]
    batches_with_one: int


@dataclass(frozen=True)
class Figures:
    """The figures of a run, after the warm-up unless a name says otherwise.

    `cores` are CPU seconds per second of the service alone. `publication_ms` are the times from the commit of a batch
    that closed windows to the version of `page_views` with these windows.
    """

    records: int
    median_ms: int
    p99_ms: int
    median_with_warm_up_ms: int
    p99_with_warm_up_ms: int
    compiled: Compiled
    slices: list[Slice]
    cores: float | None
    publication_ms: list[int]


def read_samples(text: str) -> list[Sample]:
    """Parses a JSON list of samples."""
    samples = (Sample(*fields) for fields in json.loads(text))
    return [sample._replace(memory=Memory(*sample.memory)) if sample.memory else sample for sample in samples]


def work_out(
    load: Load, produced: Span, warehouse: str, rows: pa.Table, records: Iterable[Record], samples: Sequence[Sample]
) -> Figures:
    """Computes the figures of a run from all records on the topic, the rows of the ledger and the samples."""
    ages = age_by_slice(records, rows, produced.start, load.slice_ms)
    batches = sorted(set(rows["committed_at"].to_pylist()))
    warm = Span(produced.start + load.warm_up_ms, produced.end)
    everything = sum(ages.values(), Counter[int]())
    counted = sum((ages[start] for start in ages if start >= warm.start), Counter[int]())
    # Records sent after the planned end are counted, but have no slice.
    planned = range(produced.start, produced.start + load.warm_up_ms + load.duration_ms, load.slice_ms)
    spans = [Span(start, start + load.slice_ms) for start in planned if start in ages]
    published = publications(warehouse, rows)
    return Figures(
        records=counted.total(),
        median_ms=percentile(counted, 0.5),
        p99_ms=percentile(counted, 0.99),
        median_with_warm_up_ms=percentile(everything, 0.5),
        p99_with_warm_up_ms=percentile(everything, 0.99),
        compiled=compiled(samples, published, batches, warm),
        slices=[slice_of(span, ages[span.start], warm.start, samples, batches) for span in spans],
        cores=cores([sample for sample in samples if warm.has(sample.at)]),
        publication_ms=[span.end - span.start for span in published if warm.has(span.start)],
    )


def slice_of(
    span: Span, ages: Counter[int], warm_from: int, samples: Sequence[Sample], commits: Sequence[int]
) -> Slice:
    """Computes a slice from all samples and the times of all batches' commits."""
    looks = [sample for sample in samples if span.has(sample.at)]
    return Slice(
        span=span,
        warm=span.start >= warm_from,
        records=ages.total(),
        median_ms=percentile(ages, 0.5),
        p99_ms=percentile(ages, 0.99),
        max_ms=max(ages),
        batches=sum(map(span.has, commits)),
        memory=_memory([look.memory for look in looks if look.memory]),
        steps=_steps([look.steps for look in looks if look.steps]),
    )


def cores(samples: Sequence[Sample]) -> float | None:
    """Returns the mean number of busy cores between the first and the last sample of CPU, None for fewer than two."""
    looks = [(sample.at, sample.cpu_s) for sample in samples if sample.cpu_s is not None]
    if len(looks) <= 1:
        return None
    (start, used_before), (end, used) = looks[0], looks[-1]
    return (used - used_before) / (end - start) * 1000


def _memory(looks: Sequence[Memory]) -> Memory | None:
    if not looks:
        return None
    python, jvm, heap = zip(*looks, strict=True)
    return Memory(round(mean(python)), round(mean(jvm)), min(heap))


def _steps(looks: Sequence[Mapping[str, tuple[float, float]]]) -> dict[str, float]:
    if not looks:
        return {}
    first, last = looks[0], looks[-1]
    differences = {step: (last[step][0] - first[step][0], last[step][1] - first[step][1]) for step in first}
    return {step: seconds / count for step, (count, seconds) in differences.items() if count}


def compiled(samples: Sequence[Sample], publishing: Sequence[Span], commits: Sequence[int], warm: Span) -> Compiled:
    """Separates the compilations within `warm` into those during publications and others.

    `commits` are the times of the batches' commits, in order.
    """
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
    return Compiled(sum(map(warm.meets, publishing)), inside, sum(map(warm.has, commits)), outside, len(hit))


def age_by_slice(records: Iterable[Record], rows: pa.Table, began: int, slice_ms: int) -> dict[int, Counter[int]]:
    """Counts records by the start of the slice in which they were produced and by their age at commit, in milliseconds.

    The age is the time of the ledger row that covers the offset less the Kafka timestamp. `rows` are in order of batch.
    Raises IndexError for an offset that was not committed.
    """
    ends, times = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for row in rows.select(["partition", "to_offset", "committed_at"]).to_pylist():
        ends[row["partition"]].append(row["to_offset"])
        times[row["partition"]].append(row["committed_at"])
    ages = defaultdict[int, Counter[int]](Counter)
    for partition, offset, produced in records:
        committed = times[partition][bisect_right(ends[partition], offset)]
        ages[produced - (produced - began) % slice_ms][committed - produced] += 1
    return ages


def percentile(histogram: Counter[int], share: float) -> int:
    """Returns the smallest value that at least `share` of all values do not exceed. Raises IndexError if empty."""
    wanted, seen = share * histogram.total(), 0
    for value in sorted(histogram):
        seen += histogram[value]
        if seen >= wanted:
            return value
    raise IndexError("a percentile of nothing")


def publications(warehouse: str, rows: pa.Table) -> list[Span]:
    """Returns the spans from the commit of a batch that made windows due to the version of `page_views` with them.

    Reads Delta's log, because only the log has the batch of a version.
    """
    committed = dict(zip(rows["batch"].to_pylist(), rows["committed_at"].to_pylist(), strict=True))
    spans, writes = list[Span](), False
    for version in sorted(Path(PAGE_VIEWS.uri(warehouse), "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in version.read_text().splitlines()]
        # Many rows are written by several versions before the version that marks them complete.
        writes |= any(action["add"].get("dataChange", True) for action in actions if "add" in action)
        batches = [a["txn"]["version"] for a in actions if a.get("txn", {}).get("appId") == PUBLISHED_APP]
        if batches:
            [at] = (action["commitInfo"]["timestamp"] for action in actions if "commitInfo" in action)
            spans += [Span(committed[batch], at) for batch in batches if writes and batch in committed]
            writes = False
    return spans
