"""The five steps of a batch, with parts that only note what is asked of them: their order, and what a failure leaves.

fold -> write ahead -> commit -> publish -> observe
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.policies import policy_of
from tidemark.pipeline.errors import BrokenChain, SetUpError
from tidemark.pipeline.event_time import window_states
from tidemark.pipeline.event_time.arrival import NO_ROWS
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.malformed import MalformedLimit, MalformedShare
from tidemark.pipeline.event_time.progress import Progress
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.tallies import Statistic
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.service import batch_loop
from tidemark.pipeline.service.batch_loop import Service
from tidemark.pipeline.service.schema_store import SchemaStore
from tidemark.schemas.fields import EventSchemas

MINUTE = 60_000
STEPS = ["fold", "write ahead", "commit", "publish", "observe"]
POLICY = policy_of(Report("page_views", Grid(MINUTE, MINUTE), 0))


class Parts:
    """The parts of a service, which note their calls in `calls`; each raises what `failures` has for its call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = list[str]()
        self.failures = dict[str, Exception]()
        self.statistics = list[Statistic]()
        self.schemas, self.unknown_ids = SchemaStore(EventSchemas({1: "{}"})), list[int]()
        self.rows, self.ids, self.published = list[Any](), list[Any](), list[int]()
        topic = SimpleNamespace(high_watermarks=dict)
        for name, part in (
            ("SameTopic", topic),
            ("Maintenance", SimpleNamespace(wanted_after=lambda _: False)),
            ("WriteAhead", SimpleNamespace(write=self.noting("write ahead"))),
            ("FoldStep", SimpleNamespace(fold=self._fold, committed=lambda ids, *_: self.ids.append(ids))),
        ):
            monkeypatch.setattr(batch_loop, name, lambda *_, part=part, **__: part)

    def service(self) -> Service:
        """Returns a service that has read one partition up to offset 0."""
        frontier = Frontier({0: PartitionState(0, 0)})
        share = MalformedShare(MalformedLimit(0.5, 1))
        progress = Progress("t", POLICY, 0, frontier, window_states.initial(POLICY), share)
        resources: Any = SimpleNamespace(
            topic=None,
            warehouse="",
            large=None,
            schemas=self.schemas,
            now=lambda: 0,
            timed=lambda _: nullcontext(),
            ledger=SimpleNamespace(commit=self._commit, tidy=lambda: None),
            observer=SimpleNamespace(committed=self.noting("observe"), advanced=lambda _: None),
            mirror=SimpleNamespace(commit=lambda positions: self.calls.append(f"mirror {positions[0]}")),
        )
        opened: Any = SimpleNamespace(progress=progress, topic_id=None, compaction=None, remembered=None)
        publisher: Any = SimpleNamespace(check=lambda: None, add=self._add)
        return Service(resources, opened, publisher)

    def noting(self, step: str) -> Callable[..., None]:
        """Returns a function that notes `step`, and raises its failure once."""

        def note(*_: object) -> None:
            self.calls.append(step)
            if step in self.failures:
                raise self.failures.pop(step)

        return note

    def counted(self, minute: int) -> None:
        """The next folds have a counted event at this minute."""
        self.statistics = [Statistic(0, 0, Check.PASSED, minute * MINUTE, 0, 1, minute * MINUTE, 0)]

    @contextmanager
    def _fold(self, *_: object) -> Iterator[object]:
        self.noting("fold")()
        result = SimpleNamespace(
            statistics=self.statistics,
            rises=NO_ROWS,
            unsettled={},
            unknown_schema_ids=lambda known: [*{*self.unknown_ids} - known],
        )
        yield SimpleNamespace(result=result, now=0, ids="ids")

    def _commit(self, rows: list[Any]) -> None:
        self.noting("commit")()
        self.rows.append((rows[0].batch, rows[0].from_offset, rows[0].to_offset))

    def _add(self, _: object, batch: int) -> None:
        self.noting("publish")()
        self.published.append(batch)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    return Parts(monkeypatch)


def ranges(end: int) -> Any:
    return SimpleNamespace(ends={0: end}, until=None)


def test_a_batch_has_five_steps_in_order_and_its_progress_is_adopted_with_the_commit(parts: Parts) -> None:
    service = parts.service()
    parts.counted(minute=0)
    service.take(ranges(1))
    assert [call for call in parts.calls if call in STEPS] == ["fold", "write ahead", "commit", "observe"]
    parts.calls.clear()
    #  minute  0       1
    #  offset  0       1    the watermark reaches the end of the first window
    parts.counted(minute=1)
    service.take(ranges(2))
    assert parts.calls == [*STEPS, "mirror 2"]
    assert (parts.rows, parts.published, parts.ids) == ([(1, 0, 1), (2, 1, 2)], [2], ["ids", "ids"])
    assert (service.committed, service.verdicts["counted"]) == (2, 2)


@pytest.mark.parametrize("step", STEPS)
def test_after_a_failure_in_any_step_no_batch_is_taken(parts: Parts, step: str) -> None:
    service = parts.service()
    parts.counted(minute=0)
    service.take(ranges(1))
    parts.calls.clear()
    parts.failures[step] = BrokenChain("no")
    parts.counted(minute=1)
    takes: list[Callable[[], None]] = [lambda: service.take(ranges(2)), service.tick, service.end_input]
    for take in takes:
        with pytest.raises(BrokenChain):
            take()
    done = STEPS[: STEPS.index(step) + 1]
    assert [call for call in parts.calls if call in STEPS] == done
    assert parts.published == ([2] if step == "observe" else [])


def test_a_commit_that_failed_changes_neither_progress_nor_the_remembered_ids(parts: Parts) -> None:
    service = parts.service()
    before = service.frontier
    parts.failures["commit"] = BrokenChain("no")
    parts.counted(minute=0)
    with pytest.raises(BrokenChain):
        service.take(ranges(1))
    assert (service.frontier, parts.ids, service.committed) == (before, [], 0)


def test_a_batch_of_malformed_records_is_not_written(parts: Parts) -> None:
    service = parts.service()
    parts.statistics = [Statistic(0, 0, Check.AVRO, None, 0, 1, None, 0)]
    with pytest.raises(SetUpError, match="malformed"):
        service.take(ranges(1))
    assert parts.calls == ["fold"]


@pytest.mark.parametrize(
    ("named", "often"),
    [
        ([], "no schema has this schema id"),
        ([9], "no schema has this schema id"),
        ([7, 9], "no schema has this schema id, or it cannot be used (7: it lacks user_id)"),
    ],
)
def test_the_sentence_on_malformed_records_has_the_reasons_of_the_schemas_that_they_name(
    parts: Parts, named: list[int], often: str
) -> None:
    service = parts.service()
    parts.schemas.unusable |= {5: "another schema", 7: "it lacks user_id"}
    parts.unknown_ids = [1, *named]
    parts.statistics = [Statistic(0, 0, Check.SCHEMA_ID, None, 0, 1, None, 0)]
    with pytest.raises(SetUpError, match=re.escape(f"(most often: {often}), more than")):
        service.take(ranges(1))


def test_the_end_of_input_fires_and_is_committed_once(parts: Parts) -> None:
    service = parts.service()
    parts.counted(minute=0)
    service.take(ranges(1))
    service.end_input()
    service.end_input()
    assert (len(parts.rows), parts.published) == (2, [2])


def test_a_query_that_has_nothing_to_read_is_a_tick_without_a_commit(parts: Parts) -> None:
    service = parts.service()
    service.take(ranges(0))
    assert parts.calls == []


def test_a_closed_service_takes_nothing(parts: Parts) -> None:
    service = parts.service()
    service.close()
    service.take(ranges(1))
    service.end_input()
    assert parts.calls == []
