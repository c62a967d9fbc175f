"""The fold of any split of a batch equals the fold of the whole: partial counts add up in any order."""

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.event_time.core import row_of
from tests.event_time.strategies import Record, policies, records
from tidemark.pipeline.event_time.policy import Policy, Verdict
from tidemark.pipeline.event_time.tallies import Statistic, Tallies

Rows = list[Statistic]
Group = tuple[int, int, int, int | None, int]
batches = st.lists(records, max_size=30)


def aggregated(rows: Rows) -> Rows:
    """Adds rows up as a task of the fold does, by grouping, partition, check, pane and age."""
    counts, sizes = Counter[Group](), Counter[Group]()
    newest = dict[Group, int]()
    for row in rows:
        group, time = row[:5], row.max_event_time
        counts[group] += row.records
        sizes[group] += row.bytes
        if time is not None:
            newest[group] = max(newest.get(group, time), time)
    return [Statistic(*group, number, newest.get(group), sizes[group]) for group, number in counts.items()]


def verdict(record: Record) -> Verdict:
    """Returns an arbitrary verdict, always the same for a record."""
    return list(Verdict)[hash(record) % len(Verdict)]


@given(policies, batches, st.data())
def test_any_split_of_a_batch_folds_to_the_same(policy: Policy, batch: Sequence[Record], data: st.DataObject) -> None:
    rows = [row_of(record, verdict(record), policy) for record in batch]
    tasks: dict[int, Rows] = {}
    for row in data.draw(st.permutations(rows)):
        tasks.setdefault(data.draw(st.integers(0, 3)), []).append(row)
    split = [row for task in tasks.values() for row in aggregated(task)]
    assert Tallies.of_rows(split) == Tallies.of_rows(rows)


@given(policies, batches)
def test_every_record_is_tallied_once_under_its_verdict(policy: Policy, batch: Sequence[Record]) -> None:
    tallies = Tallies.of_rows([row_of(record, verdict(record), policy) for record in batch])
    assert tallies.total() == len(batch)
    for each in Verdict:
        assert tallies.total([each]) == sum(verdict(record) is each for record in batch)
    assert tallies.ages_ms.total() == len(batch)


def test_a_partition_that_brought_nothing_has_an_empty_tally() -> None:
    empty = Tallies().of_partition(3)
    assert (empty.verdicts.total(), empty.max_event_time) == (0, None)
