"""Any cut of a topic into batches gives equal panes, dead letters and counts, if the driver judges by arrival.

The rows of the fold are made here, as `test_arrival_rows.py` shows that the operator gives them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from tests.event_time.arrival_rule import Lane, Record, Topic, steps_of, whole
from tests.event_time.test_arrival import Cut, random_cuts, random_policy, random_topic
from tests.support.seeds import SEED
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.arrival import NO_TIME, ArrivalState, Arrived
from tidemark.pipeline.event_time.checks import Check, is_counted, reason_of
from tidemark.pipeline.event_time.policy import Consumer, Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.tallies import Tallies
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.fold.arrival_judgement import Judgement
from tidemark.pipeline.fold.arrival_spec import RISE, STEP, rises_of
from tidemark.pipeline.fold.grouped_records import REJECTED_RECORD, STATISTICS
from tidemark.pipeline.fold.grouping_sets import groupings
from tidemark.pipeline.fold.outputs import dead_letters, panes
from tidemark.pipeline.fold.packed import CHECKS, GROUP, unpacked_rows
from tidemark.pipeline.fold.rejected_fields import REJECTED, USER, unboxed
from tidemark.pipeline.fold.statistics import statistics_of

pytestmark = pytest.mark.slow

_LONGS: Final = pa.int64()
_FIELDS: Final = {c.OFFSET: _LONGS, c.KEY: pa.binary(), c.VALUE: pa.binary(), c.KAFKA_TIMESTAMP: _LONGS}
_STRUCT: Final = pa.struct({**_FIELDS, c.EVENT_TIME: _LONGS, USER: pa.string()})
_COUNTS: Final = (c.PAGE_VIEWS, c.CLICKS, c.EVENTS, c.FIRST_TIME, c.LAST_TIME)
SCHEMA: Final = pa.schema(
    {
        c.GROUPING: pa.int32(),
        GROUP: _LONGS,
        REJECTED: pa.list_(_STRUCT),
        c.USER_ID: pa.string(),
        **dict.fromkeys((c.RECORDS, c.MAX_EVENT_TIME, c.AGE_MS, *_COUNTS, STEP, c.TIME), _LONGS),
    }
)
REPORTS: Final = (
    Report("page_views", Grid(4_000, 2_000, 300), 4_000),
    Report("all", Grid(10_000, 10_000), 6_000, keys=()),
    Report("visits", Sessions(1_500), 1_000),
    Report("closed_before", Grid(5_000, 5_000), 0, closed_before_ms=33_000),
)


@dataclass
class Tables:
    """The rows that the batches of a topic wrote, without columns that depend on their cuts."""

    panes: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    letters: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)


def test_any_cut_gives_the_panes_dead_letters_and_counts_of_the_rule() -> None:
    for case in range(40):
        chance = Random(SEED + case)
        topic = random_topic(chance)
        reports = tuple(chance.sample(REPORTS, chance.randint(1, 4)))
        totals = UserTotals(5_000, 60_000) if chance.random() < 0.3 else None
        policy = replace(random_policy(chance), reports=reports, totals=totals)
        expected = by_the_rule(topic, policy)
        for cuts in ([], random_cuts(chance, topic)):
            assert in_batches(topic, policy, cuts) == expected, case


def by_the_rule(topic: Topic, policy: Policy) -> Tables:
    tables = Tables()
    for (number, index), watermark in whole(topic, policy)[0].items():
        record = topic[number][index]
        check = check_of(record, watermark, policy)
        tables.verdicts[check.name] += 1
        if check is not Check.PASSED:
            tables.letters[number, index, reason_of(check), watermark] += 1
        for consumer in policy.consumers if is_counted(check) else ():
            if not is_late_for(consumer, record.time, watermark):
                pane = record.time - (record.time + consumer.shift_ms) % consumer.pane_ms
                is_late = consumer.event_ms is not None and record.time + consumer.event_ms <= number_of(watermark)
                fired = fired_ends(consumer, pane, number_of(watermark))
                tables.panes[consumer.name, pane, user_of(consumer, index), fired] += 1
                tables.panes[consumer.name, pane, user_of(consumer, index), "late"] += is_late
    return replace(tables, panes=+tables.panes)


def in_batches(topic: Topic, policy: Policy, cuts: Sequence[Cut]) -> Tables:
    tables, groups = Tables(), groupings(policy.consumers)
    state = ArrivalState({number: Arrived() for number in range(len(topic))})
    arrived, places = [[step for step, _ in steps_of(records)] for records in topic], [0] * len(topic)
    end = max((steps[-1] for steps in arrived if steps), default=-1) + 1
    for step in [*(step for step in cuts if step < end), end]:
        rows = list[Mapping[str, Any]]()
        for number, steps in enumerate(arrived):
            start, places[number] = places[number], int(np.searchsorted(steps, step))
            rows += folded(topic[number], range(start, places[number]), Lane(number, state, policy), len(topic))
        packed = pa.Table.from_pylist(rows, SCHEMA)
        rises = rises_of(packed)
        add(tables, Judgement(state, rises, policy, groups).of(packed), policy, len(topic))
        state = state.after(rises, step, policy)
    return tables


def add(tables: Tables, packed: pa.Table, policy: Policy, partitions: int) -> None:
    """Adds what a batch writes."""
    groups = groupings(policy.consumers)
    rows = unpacked_rows(unboxed(packed), groups, partitions)
    by_name = {consumer.name: consumer for consumer in policy.consumers}
    for row in panes(rows, policy.consumers, groups, 1, None).to_pylist():
        consumer = by_name[row[c.REPORT]]
        assert row[c.CLOSED_UNTIL] == lateness.closed_until(consumer, row[c.WATERMARK])
        key = row[c.REPORT], row[c.PANE_START], row[c.USER_ID]
        tables.panes[*key, fired_ends(consumer, row[c.PANE_START], row[c.WATERMARK])] += row[c.PAGE_VIEWS]
        tables.panes[*key, "late"] += row[c.LATE_EVENTS]
    tables.panes = +tables.panes
    for row in dead_letters(rows, "t", 1, None, {}).to_pylist():
        tables.letters[row[c.PARTITION], row[c.OFFSET], row[c.REASON], row[c.WATERMARK]] += 1
    statistics = statistics_of(packed, groups, partitions)
    tables.verdicts += Counter({check.name: sum(row.records for row in statistics if not row.grouping
                                                and row.check == check) for check in Check})  # fmt: skip
    assert Tallies.of_rows(statistics).total() == sum(row.records for row in statistics if not row.grouping)


def folded(records: Sequence[Record], which: range, lane: Lane, partitions: int) -> Iterator[Mapping[str, Any]]:
    """Yields the rows of a partition that the operator gives; groups have one record."""
    policy, groups, before = lane.policy, groupings(lane.policy.consumers), lane.state.watermark
    for index in which:
        record = records[index]
        is_certain, check = lane.arrive(record), check_of(record, before, policy)
        pane = (record.time + groups.shift_ms) // groups.pane_ms if is_counted(check) else 0
        number = (pane * partitions + lane.number) * CHECKS + check
        row = {GROUP: (number << len(groups.flags)) + flags_of(record, before, policy), c.RECORDS: 1}
        fields = {c.OFFSET: index, c.KEY: b"k", c.VALUE: b"v", c.KAFKA_TIMESTAMP: record.kafka_timestamp}
        letter = {c.GROUPING: REJECTED_RECORD, STEP: lane.step, REJECTED: [fields], **row}
        may_be_late = record.moves and (check is not Check.PASSED or not is_certain)
        arrival = {STEP: lane.step, c.TIME: record.time} if may_be_late else {}
        if is_counted(check):
            counts = {c.PAGE_VIEWS: 1, c.CLICKS: 0, c.EVENTS: 1, c.FIRST_TIME: record.time, c.LAST_TIME: record.time}
            for grouping, output in enumerate(groups.outputs):
                user = {c.USER_ID: name_of(index)} if c.USER_ID in output.rows.keys else {}
                yield {c.GROUPING: grouping, **user, **counts, **row, **arrival}
        if may_be_late:
            yield {**letter, **arrival, c.AGE_MS: 0}
            continue
        yield {c.GROUPING: STATISTICS, c.AGE_MS: 0, **row}
        if not is_counted(check):
            yield letter
    for _, first, last, highest in lane.end():
        latest = None if highest == NO_TIME else highest
        yield {c.GROUPING: RISE, GROUP: lane.number, c.RECORDS: 0, STEP: first, c.TIME: last, c.MAX_EVENT_TIME: latest}


def check_of(record: Record, watermark: int | None, policy: Policy) -> Check:
    """Returns the check of a record; without a trusted time it is of the future, or malformed."""
    if not record.moves:
        return Check.FUTURE if record.is_event else Check.AVRO
    cutoffs = lateness.cutoffs(policy.reports, watermark)
    if record.time < cutoffs.too_late:
        return Check.TOO_LATE
    is_partly_late = lateness.may_be_partly_late(policy.reports) and record.time < cutoffs.partly_late
    return Check.PARTLY_LATE if is_partly_late else Check.PASSED


def flags_of(record: Record, watermark: int | None, policy: Policy) -> int:
    """Returns the flags of a record by the watermark from before its batch, as Spark computes them."""
    flags, groups = 0, groupings(policy.consumers)
    for consumer in policy.consumers:
        if consumer.event_ms is not None:
            bits, end = groups.flag_bits(consumer), record.time + consumer.event_ms
            flags |= bits.barred if end <= lateness.closed_until(consumer, watermark) else 0
            flags |= bits.fired if end <= number_of(watermark) else 0
    return flags


def is_late_for(consumer: Consumer, time: int, watermark: int | None) -> bool:
    if consumer.event_ms is None:
        return time < lateness.in_time_from(consumer, watermark)
    return time + consumer.event_ms <= lateness.closed_until(consumer, watermark)


def fired_ends(consumer: Consumer, pane: int, watermark: int) -> tuple[int, ...]:
    """Returns the ends of a pane's windows that had fired, if the watermark of a pane's row decides that."""
    if isinstance(consumer, UserTotals) or consumer.event_ms is not None:
        return ()
    return tuple(window.end for window in consumer.windows.of(pane) if window.end <= watermark)


def number_of(watermark: int | None) -> int:
    return rules.as_number(watermark)


def name_of(index: int) -> str:
    return "ab"[index % 2]


def user_of(consumer: Consumer, index: int) -> str | None:
    return name_of(index) if c.USER_ID in consumer.pane_keys else None
