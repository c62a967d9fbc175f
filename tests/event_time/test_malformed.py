"""The share of malformed records over about the last ones: when it says stop, and when it must not."""

from hypothesis import given
from hypothesis import strategies as st

from tidemark.pipeline.event_time.malformed import MalformedLimit, MalformedShare, limit_exceeded_message

LIMIT = MalformedLimit(0.9, 10_000)
limits = st.builds(MalformedLimit, st.floats(0.01, 1), st.integers(1, 50))
batches = st.lists(
    st.integers(0, 60).flatmap(lambda records: st.tuples(st.just(records), st.integers(0, records))), max_size=20
)


def share_after(limit: MalformedLimit, read: list[tuple[int, int]]) -> MalformedShare:
    state = MalformedShare(limit)
    for records, malformed in read:
        state = state.after(records, malformed)
    return state


@given(limits, batches)
def test_a_share_is_one_and_covers_no_more_than_the_window_or_the_last_batch(
    limit: MalformedLimit, read: list[tuple[int, int]]
) -> None:
    state = share_after(limit, read)
    assert 0 <= state.share <= 1 + 1e-9
    assert state.records <= max([limit.records, *(records for records, _ in read)])


@given(limits, batches)
def test_the_share_is_exact_until_the_window_is_full(limit: MalformedLimit, read: list[tuple[int, int]]) -> None:
    records = sum(one for one, _ in read)
    if records <= limit.records:
        assert share_after(limit, read) == MalformedShare(limit, records, sum(bad for _, bad in read))
    if records < limit.records:
        assert not share_after(limit, read).exceeded()


@given(limits, batches)
def test_a_batch_as_large_as_the_window_is_judged_by_itself(limit: MalformedLimit, read: list[tuple[int, int]]) -> None:
    state = share_after(limit, read)
    assert not state.after(limit.records, 0).exceeded()
    assert state.after(limit.records, limit.records).share == 1
    assert state.after(limit.records, limit.records).exceeded() == (limit.share < 1)


@given(batches)
def test_a_limit_of_one_is_never_exceeded(read: list[tuple[int, int]]) -> None:
    assert not share_after(MalformedLimit(1, 1), [(records, records) for records, _ in read]).exceeded()


def test_a_topic_of_another_kind_stops_at_its_first_ten_thousand_records_in_small_batches_too() -> None:
    small = [(999, 999)] * 10
    assert not share_after(LIMIT, small).exceeded()
    assert share_after(LIMIT, [*small, (10, 10)]).exceeded()


def test_a_bad_producer_next_to_a_good_producer_stops_nothing() -> None:
    assert not share_after(LIMIT, [(1000, 500)] * 100).exceeded()


def test_a_burst_is_forgotten() -> None:
    burst = share_after(LIMIT, [(5000, 0), (5000, 5000)])
    assert burst.share == 0.5
    assert [round(burst.after(5000 * n, 0).share, 2) for n in (0, 1, 2)] == [0.5, 0.25, 0]


def test_the_sentence_says_what_was_found_and_what_to_do() -> None:
    message = limit_exceeded_message(
        share_after(LIMIT, [(10_000, 9_799)]), {"no schema has this schema id": 9_000, "empty": 799}
    )
    assert message == (
        "97.9 % of 10,000 recent records are malformed (most often: no schema has this schema id), more than "
        "dead_letters.limit = 0.9 allows: is kafka.topic the right topic, are the schemas the right ones? Nothing of "
        "this batch was committed. If the topic has events of other kinds, too, set schemas.mapping.other_kinds to "
        "left_out; if these records are to be dead letters, set dead_letters.limit to 1"
    )


def test_a_share_is_reported_without_rounding_up() -> None:
    state = share_after(LIMIT, [(100_000, 99_999)])
    assert "99.9 % of 100,000 recent records are malformed, more" in limit_exceeded_message(state, {})
