"""Where a batch ends if it is a span of arrival: any log, clock, limit and open transaction, without a broker.

partition 0   a 0.1  b 0.3  c 0.9      seconds
partition 1   d 0.2  e 5.0  f 0.3      f arrives at 5.0, after e

until 0.4     a, b and d are in the batch or in an earlier one, and no other record is
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from random import Random
from typing import Any, Self

import pytest
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.seeds import SEED
from tidemark.pipeline.event_time.arrival import STEP_MS
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings

pytestmark = pytest.mark.jvm

Offsets = tuple[int, ...]
"""An offset of each partition."""
START = 1_700_000_000_000
MOST_QUESTIONS = 70
ENOUGH_QUESTIONS = 10
"""After this many any batch that has records is taken."""


class Planner:
    """The planner's classes in Java."""

    def __init__(self, spark: SparkSession) -> None:
        gateway, jvm = spark.sparkContext._gateway, spark.sparkContext._jvm
        assert gateway is not None
        assert jvm is not None
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        # Each lookup of a class asks Java several times.
        java: Any = jvm.tidemark
        self.offsets, self.ends, self.cut = java.PlannedOffsets.ofJson, java.LogEnds, java.ArrivalCut
        self.first, self.map = java.ArrivalCut.First, jvm.java.util.HashMap

    def of(self, offsets: Sequence[int], **until: int) -> Any:
        """Returns offsets by partition in Java."""
        return self.offsets(json.dumps({**{str(p): offset for p, offset in enumerate(offsets)}, **until}))


@dataclass
class Log:
    """Answers questions like a broker, from the Kafka timestamps of each partition."""

    planner: Planner
    times: Sequence[Sequence[int]]
    asked: int = 0

    def at(self, time: int) -> Any:
        """Returns the first record at or after a time, by partition."""
        self.asked += 1
        first = self.planner.map()
        for partition, times in enumerate(self.times):
            found = next((offset for offset, each in enumerate(times) if each >= time), None)
            if found is not None:
                first.put(partition, self.planner.first(found, times[found]))
        return first

    class Java:
        """For Py4J."""

        implements = ("tidemark.ArrivalCut$Log",)


@dataclass(frozen=True)
class Plan:
    """All that a batch depends on. `earlier` is read whatever its timestamps; what is after `high` comes meanwhile."""

    times: Sequence[Sequence[int]]
    start: Offsets
    until: int
    stable: Offsets
    high: Offsets
    earlier: Offsets
    most: int
    newest: int

    def next(self, planner: Planner) -> tuple[Self, int]:
        """Returns the plan of the batch after this one in an unchanged topic, and how often the log was asked."""
        log = Log(planner, self.times)
        ends = planner.ends(planner.of(self.stable), planner.of(self.high))
        cut = planner.cut(planner.of(self.start, until=self.until), ends, planner.of(self.earlier), self.most, log)
        planned = json.loads(cut.to(self.newest).json())
        until = planned.pop("until")
        return replace(self, start=tuple(planned[str(p)] for p in range(len(self.start))), until=until), log.asked

    @property
    def top(self) -> int:
        return max(self.newest, self.until)

    def ends(self, time: int) -> Offsets:
        """Returns the offsets below which records arrived before a time and can be read."""
        firsts = (next((o for o, each in enumerate(times) if each >= time), len(times)) for times in self.times)
        return tuple(map(min, firsts, self.stable))

    def is_complete(self, time: int) -> bool:
        """Returns whether no open transaction has a record that arrived before a time."""
        hidden = zip(self.times, self.stable, self.high, strict=True)
        return all(stable >= high or max(times[: stable + 1]) >= time for times, stable, high in hidden)

    def whole(self) -> Offsets:
        """Returns the ends of a batch without a limit and without open transactions."""
        ahead = map(min, self.earlier, self.stable)
        return tuple(map(max, self.start, self.ends(self.top), ahead))

    def check(self, after: Self, asked: int) -> None:
        """Fails unless the batch to `after` is a span of arrival of the right size, found by `asked` questions."""
        arrivals = [[*accumulate(times, max)] for times in self.times]
        reached = after.until
        assert self.until <= reached <= self.top
        assert reached % STEP_MS == 0
        assert all(a <= b <= stable for a, b, stable in zip(self.start, after.start, self.stable, strict=True))
        if reached > self.until:
            assert self.is_complete(reached)
            assert all(end >= own for own, end in zip(self.ends(reached), after.start, strict=True))
        for p, (own, start, end) in enumerate(zip(self.ends(reached), self.start, after.start, strict=True)):
            for offset in range(max(own, start), end):
                is_ahead = reached == self.top and offset < self.earlier[p]
                is_of_step = self.is_complete(reached + STEP_MS) and arrivals[p][offset] < reached + STEP_MS
                assert is_ahead or is_of_step
        count = sum(after.start) - sum(self.start)
        assert count <= self.most + len(self.start)
        is_all = reached == self.top and after.start == self.whole()
        is_first = count > 0 and asked >= ENOUGH_QUESTIONS
        assert is_all or 2 * count >= self.most or is_first or not self.is_complete(reached + STEP_MS)
        assert asked <= MOST_QUESTIONS


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(spark_session(SparkSettings(conf=BRIEF_DRIVER)))


def random_times(chance: Random) -> list[int]:
    """Returns Kafka timestamps of a partition: sparse, dense, disorderly, some ahead of the clock or absent."""
    clock, times = START + chance.randrange(3_000), list[int]()
    pace = chance.choice([0, 3, 40, 500, 30_000])
    for _ in range(chance.randrange(60)):
        clock += chance.choice([0, pace, pace, 2 * pace])
        odd = chance.choice([clock + 40_000_000, 0, -1]) if chance.random() < 0.03 else None
        times.append(clock - chance.choice([0, 0, 0, 90, 700]) if odd is None else odd)
    return times


@pytest.mark.parametrize(("part", "cases"), [(0, 30), pytest.param(1, 1000, marks=pytest.mark.nightly)])
def test_any_batch_is_a_span_of_arrival_within_the_limit_and_every_record_is_read(
    planner: Planner, part: int, cases: int
) -> None:
    for case in range(cases):
        chance = Random(SEED + 1_000 * part + case)
        times = [random_times(chance) for _ in range(chance.randrange(1, 4))]
        zero = (0,) * len(times)
        newest, until = START - 1_000, chance.choice([0, START - STEP_MS])
        plan = Plan(times, zero, until, zero, zero, zero, chance.choice([1, 5, 20, 1_000]), newest)
        for _ in range(6):
            high = tuple(chance.randint(at, len(each)) for at, each in zip(plan.high, times, strict=True))
            held = [chance.random() < 0.3 for _ in times]
            ends = zip(plan.stable, high, held, strict=True)
            stable = tuple(chance.randint(at, end) if is_held else end for at, end, is_held in ends)
            plan = replace(plan, high=high, stable=stable, earlier=plan.stable)
            plan = replace(plan, newest=plan.newest + STEP_MS * chance.choice([0, 1, 5, 1_000]))
            plan = checked(plan, planner, case)
        all_read = tuple(map(len, times))
        plan = replace(plan, stable=all_read, high=all_read, earlier=all_read, newest=plan.newest + 10_000_000)
        while plan.start != all_read:
            before, plan = plan, checked(plan, planner, case)
            assert plan != before, case


def checked(plan: Plan, planner: Planner, case: int) -> Plan:
    """Returns the plan of the batch after a plan, or the plan itself if there is nothing to read."""
    after, asked = plan.next(planner)
    try:
        plan.check(after, asked)
    except AssertionError as error:
        raise AssertionError(f"case {case} with SEED {SEED}: {plan} to {after}, {asked} questions") from error
    return plan if after.start == plan.start else after
