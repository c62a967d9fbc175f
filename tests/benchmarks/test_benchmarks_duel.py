"""The duel: its judge, and the scenario that it judges by."""

import io
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import fastavro
import pytest

from benchmarks.duel.command import CONTESTANTS, main
from benchmarks.duel.contestant import Arena
from benchmarks.duel.flink import FlinkSql
from benchmarks.duel.judgement import Summary, Verdict, judge, summary
from benchmarks.duel.scenario import BOUND_MS, MINUTE_MS, MUST_COUNT, Cell, Kind, Scenario, kind_of, scenario
from tidemark.producers.encode import header
from tidemark.schemas import WRITER_ID, load_schemas

TRUTH: dict[Cell, int] = {
    ("good-1", 0): 3,
    ("lagging-2", 0): 2,
    ("repeated-0", 0): 1,
    ("late-1", 0): 2,
    ("future-0", 9): 1,
    ("aborted-0", 0): 4,
}
RIGHT: dict[Cell, int] = {("good-1", 0): 3, ("lagging-2", 0): 2, ("repeated-0", 0): 1}
SAID: dict[Kind, int] = {Kind.LATE: 2, Kind.FUTURE: 1, Kind.MALFORMED: 5}
NOW = 1_800_000_000_000


def judged(changed: dict[Cell, int] | None = None, said: dict[Kind, int] | None = None) -> Summary:
    return summary(judge(TRUTH, 5, {**RIGHT, **(changed or {})}, SAID if said is None else said))


def test_a_table_that_counts_all_good_events_once_is_correct_if_the_rest_is_reported() -> None:
    result = judged()
    assert result.correct
    assert (result.late, result.future, result.malformed) == (
        Verdict(2, 0, 0, 2),
        Verdict(1, 0, 0, 1),
        Verdict(5, 0, 0, 5),
    )


def test_a_late_event_may_be_counted_in_its_window() -> None:
    assert judged({("late-1", 0): 2}).correct


@pytest.mark.parametrize(
    ("changed", "fault", "number"),
    [
        ({("good-1", 0): 1}, "lost", 2),
        ({("lagging-2", 0): 0}, "lost", 2),
        ({("good-1", 0): 5}, "doubled", 2),
        ({("late-1", 0): 3}, "doubled", 1),
        ({("good-7", 0): 1}, "doubled", 1),
        ({("repeated-0", 0): 2}, "repeats", 1),
        ({("aborted-0", 0): 4}, "aborted", 4),
        ({("aborted-0", 0): 5}, "aborted", 5),
    ],
)
def test_each_fault_of_a_table_is_counted_where_it_belongs(changed: dict[Cell, int], fault: str, number: int) -> None:
    result = judged(changed)
    faults = {name: getattr(result, name) for name in ("lost", "rejected", "doubled", "repeats", "aborted")}
    assert faults == {**dict.fromkeys(faults, 0), fault: number}
    assert not result.correct


def test_an_event_in_a_wrong_window_is_lost_in_one_and_doubled_in_the_other() -> None:
    result = judged({("good-1", 0): 2, ("good-1", 60_000): 1})
    assert (result.lost, result.doubled) == (1, 1)


def test_a_good_event_that_is_reported_as_late_is_rejected_and_not_lost() -> None:
    result = judged({("good-1", 0): 0}, {**SAID, Kind.GOOD: 2})
    assert (result.rejected, result.lost) == (2, 1)


def test_what_is_neither_counted_nor_reported_is_silent() -> None:
    result = judged(said={})
    assert [verdict.silent for verdict in (result.late, result.future, result.malformed)] == [2, 1, 5]
    assert not result.correct


@pytest.fixture(scope="module")
def small() -> Scenario:
    return scenario(3_000, NOW)


def test_a_scenario_has_every_class_of_events(small: Scenario) -> None:
    kinds = Counter(kind_of(record.user) for record in small.records)
    assert set(kinds) == set(Kind)
    sent = Counter[Kind | None]()
    for (user, _), number in small.truth.items():
        sent[kind_of(user)] += number
    assert kinds[Kind.REPEATED] == 2 * sent[Kind.REPEATED]
    assert kinds[Kind.MALFORMED] == small.malformed
    assert {kind: kinds[kind] for kind in MUST_COUNT if kind is not Kind.REPEATED} == {
        kind: sent[kind] for kind in MUST_COUNT if kind is not Kind.REPEATED
    }


def test_good_events_are_in_order_within_the_bound_on_their_partition(small: Scenario) -> None:
    newest = Counter[int]()
    for record in [*small.warm_up, *small.records, *small.cool_down]:
        if kind_of(record.user) in (Kind.FUTURE, Kind.MALFORMED, Kind.ABORTED):
            continue
        time = event_time(record.value or b"")
        if kind_of(record.user) is Kind.LATE:
            assert time < newest[record.partition] - BOUND_MS - MINUTE_MS
        else:
            assert time >= newest[record.partition] - BOUND_MS
            assert time < NOW
        newest[record.partition] = max(newest[record.partition], time)


@cache
def writer_schema() -> str | dict[str, Any] | list[Any]:
    """Returns the schema of all events, parsed."""
    return fastavro.parse_schema(json.loads(load_schemas()[WRITER_ID]))


def event_time(value: bytes) -> int:
    """Decodes the event time of a framed event."""
    assert value.startswith(header(WRITER_ID))
    event = fastavro.schemaless_reader(io.BytesIO(value[5:]), writer_schema(), None)
    assert isinstance(event, dict)
    return int(event["event_time"].timestamp() * 1000)


def test_flink_reads_the_ids_of_events(small: Scenario, tmp_path: Path) -> None:
    settings = FlinkSql(Arena("127.0.0.1:9", "t", tmp_path)).drain_settings()
    value = next(record.value for record in small.records if kind_of(record.user) is Kind.GOOD)
    schemas = (json.loads(settings[name]) for name in ("writerSchema", "readerSchema"))
    event = fastavro.schemaless_reader(io.BytesIO((value or b"")[5:]), *schemas)
    assert isinstance(event, dict)
    assert str(event["event_id"]).startswith("e")


def test_an_unknown_contestant_is_named() -> None:
    with pytest.raises(SystemExit, match="unknown contestant storm; expected some of tidemark"):
        main(["--only", "tidemark,storm"])


def test_contestants_have_names_of_their_own() -> None:
    assert len({kind.name for kind in CONTESTANTS}) == len(CONTESTANTS)
