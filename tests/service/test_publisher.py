"""The publisher: in order, again and again while the store refuses, and loud about everything else."""

from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Condition, Event
from unittest.mock import MagicMock

import pytest
from deltalake.exceptions import DeltaError
from structlog.testing import capture_logs

from tests.metrics.fakes import START, World, samples
from tests.support.waiting import PATIENCE_S
from tidemark.pipeline.errors import Replaced, TransientError
from tidemark.pipeline.event_time.firing import CountsDue, SessionsDue, WindowsDue
from tidemark.pipeline.event_time.window_states import Firings
from tidemark.pipeline.metrics.observer import Observer
from tidemark.pipeline.service.due_queue import DueFirings, DueQueue
from tidemark.pipeline.service.publisher import Publisher, publish_due


class Bench:
    """A publisher whose store is scripted, and whose pauses take no time."""

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        """The store raises them, one after the other, before it takes anything."""
        self.refusing = False
        self.done: list[object] = []
        """Each publication, as its windows and batch, and the upkeep."""
        self.open, self.entered, self.came = Event(), Event(), Event()
        self.open.set()
        self.pauses_s: list[float] = []
        self.in_a_pause: Callable[[], None] = lambda: None
        self.world = World()
        self.observer: Observer = self.world.observer()
        self.clock_s = 0.0
        self.publisher = Publisher(
            self._publish, self.observer, lambda: self.world.now, lambda: self.clock_s, self._wait
        )

    def _publish(self, firings: Firings, batch: int) -> None:
        self.entered.set()
        assert self.open.wait(PATIENCE_S)
        if self.refusing:
            raise DeltaError("no room")
        if self.failures:
            raise self.failures.pop(0)
        self.done.append((set(firings["page_views"].fired), batch))
        self.came.set()

    def _wait(self, changed: Condition, seconds: float | None) -> None:
        if seconds is None:
            changed.wait()
        else:
            self.pauses_s.append(seconds)
            self.in_a_pause()
            self.clock_s += seconds

    def upkeep(self, *steps: str) -> Iterator[None]:
        """Upkeep that works, step by step."""
        for step in steps:
            self.done.append(step)
            yield

    def metric(self, name: str) -> float | None:
        return samples(self.observer).get(f"tidemark_{name}")


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    with closing(bench.publisher):
        yield bench
        bench.open.set()


def fired(*ends: int) -> Firings:
    return {"page_views": WindowsDue(fired=frozenset(ends))}


def test_a_failed_publication_is_retried_with_growing_pauses_without_a_further_offer(
    bench: Bench,
) -> None:
    bench.failures = [DeltaError("no room"), OSError("no disk"), DeltaError("no room")]
    bench.publisher.add(fired(1), 11)
    assert bench.came.wait(PATIENCE_S)
    assert bench.pauses_s == [0.5, 1, 2]
    bench.publisher.flush()
    assert bench.done == [({1}, 11)]
    assert bench.metric("publication_failures_total") == 3


def test_windows_due_during_a_failure_are_published_together_after_it(bench: Bench) -> None:
    #  offered  1    (fails)  2, 3           done  1 by batch 11, then 2 and 3 by batch 13
    def two_more() -> None:
        bench.in_a_pause = lambda: None
        bench.publisher.add(fired(2), 12)
        bench.publisher.add(fired(3), 13)

    bench.failures, bench.in_a_pause = [DeltaError("no room")], two_more
    bench.publisher.add(fired(1), 11)
    assert bench.came.wait(PATIENCE_S)
    bench.publisher.flush()
    assert bench.done == [({1}, 11), ({2, 3}, 13)]


@pytest.mark.parametrize("fatal", [Replaced("a newer service"), KeyError("a mistake of ours")])
def test_an_error_that_is_not_the_stores_is_raised_and_ends_publication(bench: Bench, fatal: Exception) -> None:
    bench.publisher.check()
    bench.failures = [fatal]
    bench.publisher.add(fired(1), 11)
    with pytest.raises(type(fatal)):
        bench.publisher.flush()
    bench.publisher.add(fired(2), 12)
    with pytest.raises(type(fatal)):
        bench.publisher.check()
    assert bench.done == []


def test_waiting_for_a_store_that_refuses_ends_with_an_error_after_a_few_tries(bench: Bench) -> None:
    bench.refusing = True
    bench.publisher.add(fired(1), 11)
    with pytest.raises(TransientError, match="1 committed batch not published: no room"):
        bench.publisher.flush()
    bench.refusing = False
    bench.publisher.flush()
    assert bench.done == [({1}, 11)]


def test_waiting_for_a_store_that_does_not_answer_ends_with_an_error_in_time(bench: Bench) -> None:
    bench.open.clear()
    bench.publisher.add(fired(1), 11)
    with pytest.raises(TransientError, match="not published: the store does not answer"):
        bench.publisher.flush(patience_s=0.01)


def test_upkeep_waits_for_the_publications_of_its_batch_and_is_not_replaced_by_later_upkeep(bench: Bench) -> None:
    #  in hand  1    waiting  2 and upkeep of the same batch, then 3
    bench.open.clear()
    bench.publisher.add(fired(1), 11)
    assert bench.entered.wait(PATIENCE_S)
    bench.publisher.add(fired(2), 12)
    bench.publisher.afterwards(bench.upkeep("upkeep"), 12)
    bench.publisher.add(fired(3), 13)
    bench.publisher.afterwards(bench.upkeep("later upkeep"), 13)
    bench.open.set()
    bench.publisher.flush()
    assert bench.done == [({1}, 11), ({2, 3}, 13), "upkeep"]


def test_steps_of_upkeep_and_publications_take_turns_however_many_there_are(bench: Bench) -> None:
    def each_makes_more_due() -> Iterator[None]:
        for step in range(3):
            bench.publisher.add(fired(step), 20 + step)
            bench.publisher.add(fired(step + 10), 20 + step)
            yield from bench.upkeep(f"step {step}")

    bench.publisher.afterwards(each_makes_more_due(), 12)
    bench.publisher.flush()
    assert bench.done == ["step 0", ({0, 10}, 20), "step 1", ({1, 11}, 21), "step 2", ({2, 12}, 22)]


def test_no_step_of_upkeep_comes_between_the_attempts_of_a_publication(bench: Bench) -> None:
    def in_the_first_step() -> Iterator[None]:
        bench.failures = [DeltaError("no room"), DeltaError("no room")]
        bench.publisher.add(fired(1), 13)
        yield from bench.upkeep("first", "second")

    bench.publisher.afterwards(in_the_first_step(), 12)
    bench.publisher.flush()
    assert bench.done == ["first", ({1}, 13), "second"]
    assert bench.metric("publication_failures_total") == 2


def test_upkeep_that_the_store_refuses_is_counted_and_does_not_stop_the_service(bench: Bench) -> None:
    def refused() -> Iterator[None]:
        yield
        raise DeltaError("no room")

    bench.publisher.afterwards(refused(), 11)
    bench.publisher.add(fired(1), 11)
    bench.publisher.flush()
    bench.publisher.check()
    assert bench.metric("upkeep_failures_total") == 1
    assert bench.done == [({1}, 11)]


def test_upkeep_that_finds_a_newer_service_ends_publication(bench: Bench) -> None:
    def replaced() -> Iterator[None]:
        yield
        raise Replaced("a newer service")

    bench.publisher.afterwards(replaced(), 11)
    with pytest.raises(Replaced):
        bench.publisher.flush()


def test_unpublished_batches_are_reported_since_their_commit(bench: Bench) -> None:
    bench.open.clear()
    bench.publisher.add(fired(1), 11)
    bench.world.now += 5000
    bench.publisher.add(fired(2), 12)
    assert bench.metric("unpublished_batches") == 2
    assert bench.metric("unpublished_since_timestamp_seconds") == START / 1000
    bench.open.set()
    bench.publisher.flush()
    assert bench.metric("unpublished_batches") == 0
    assert bench.metric("unpublished_since_timestamp_seconds") is None


def test_firings_that_were_taken_do_not_change_until_they_have_landed() -> None:
    queue = DueQueue()
    for end in (1, 2, 3):
        queue.add(DueFirings(fired(end), 10 + end, since=end))
        if end == 1:
            queue.take()
    first = queue.take()
    assert first == DueFirings(fired(1), 11, since=1)
    assert (queue.batches, queue.since) == (3, 1)
    queue.landed()
    then = queue.take()
    assert then == DueFirings(fired(2, 3), 13, since=2, batches=2)
    queue.landed()
    assert (queue.take(), queue.batches, queue.since) == (None, 0, None)


@pytest.mark.parametrize(
    ("due", "counts"),
    [
        ({"a": WindowsDue(fired=frozenset({1, 2}), refired=frozenset({3}))}, {"fired": 2, "refired": 1}),
        ({"a": WindowsDue(fired=frozenset({1})), "b": SessionsDue(until=7)}, {"fired": 1, "refired": 0}),
        ({"b": SessionsDue(until=7), "c": CountsDue(after_batch=1)}, {}),
    ],
)
def test_the_log_counts_the_windows_that_the_driver_knows(due: Firings, counts: dict[str, int]) -> None:
    """It does not know how many sessions and count windows a publication has."""
    resources = MagicMock()
    with capture_logs() as logs:
        publish_due(resources, MagicMock(), due, 7)
    assert logs == [{"event": "windows_published", "log_level": "info", "batch": 7, **counts}]
