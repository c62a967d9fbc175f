"""Sessions by gap: the same visits make the same sessions, however often the run was interrupted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemark.producers.access_log.sessions import Session, Sessions
from tidemark.producers.access_log.state import RunState, StateRecord, state_records

GAP_MS = 100
USERS = "abcde"
VISITS = st.lists(st.tuples(st.sampled_from(USERS), st.integers(-140, 260)), max_size=40)


def test_a_session_goes_on_while_no_gap_is_longer_than_the_gap() -> None:
    #            a    a     b     a      a         a
    # time ms    1    101   150   201    301       402
    sessions = Sessions(GAP_MS)
    ids = [sessions.visit(*one) for one in [("a", 1), ("a", 101), ("b", 150), ("a", 201), ("a", 301), ("a", 402)]]
    assert ids[0] == ids[1] == ids[3] == ids[4]
    assert len(set(ids)) == 3


def test_a_visit_that_is_logged_a_little_late_belongs_to_its_session() -> None:
    sessions = Sessions(GAP_MS)
    assert sessions.visit("a", 200) == sessions.visit("a", 150) == sessions.visit("a", 300)


def test_a_user_is_forgotten_when_later_users_are_later_by_more_than_two_gaps() -> None:
    sessions = Sessions(GAP_MS, latest=3)
    for user, time_ms in [("a", 1), ("b", 202), ("c", 201)]:
        sessions.visit(user, time_ms)
    assert dict(sessions.changes()) == {"a": (Session(1, 1),), "b": (Session(202, 202),), "c": (Session(201, 201),)}
    sessions.visit("d", 202)
    assert dict(sessions.changes()) == {"a": (), "d": (Session(202, 202),)}
    assert list(sessions.changes()) == []


def test_the_user_who_was_idle_for_longest_is_forgotten_first() -> None:
    sessions = Sessions(GAP_MS, most=2)
    first = sessions.visit("a", 1)
    assert sessions.visit("b", 2) != first
    assert sessions.visit("a", 3) == first
    sessions.visit("c", 4)
    assert dict(sessions.changes()) == {"a": (Session(1, 3),), "b": (), "c": (Session(4, 4),)}


@pytest.mark.parametrize("wrong_user", USERS)
@pytest.mark.parametrize("wrong_ms", [250, 5 * GAP_MS, 10**12])
def test_one_line_with_a_time_far_ahead_is_a_visit_of_its_own_and_splits_no_other(
    wrong_user: str, wrong_ms: int
) -> None:
    # time ms         0    10   20   30 ...                  990
    # users a to e    a    b    c    d ...                     e
    # wrong line                       ^ far ahead
    visits = [(USERS[time_ms // 10 % 5], time_ms) for time_ms in range(0, 1_000, 10)]
    sessions, ids = Sessions(GAP_MS, latest=3), {user: set[str]() for user in USERS}
    for user, time_ms in visits[:34]:
        ids[user].add(sessions.visit(user, time_ms))
    wrong = sessions.visit(wrong_user, 340 + wrong_ms)
    for user, time_ms in visits[34:]:
        ids[user].add(sessions.visit(user, time_ms))
    assert [len(ids[user] - {wrong}) for user in USERS] == [1] * 5
    assert wrong not in ids[wrong_user]


@pytest.mark.parametrize("late_ms", [0, 50, 140, 250, 400])
def test_a_line_that_is_logged_late_splits_no_visit(late_ms: int) -> None:
    # time ms   400   450   500   late_ms   550   600
    sessions = Sessions(GAP_MS, latest=1)
    before = [sessions.visit("a", time_ms) for time_ms in (400, 450, 500)]
    late = sessions.visit("a", late_ms)
    after = [sessions.visit("a", time_ms) for time_ms in (550, 600)]
    assert len({*before, *after}) == 1
    assert (late in before) == (late_ms >= 300)


def test_a_line_that_is_logged_late_by_a_gap_belongs_to_its_visit_which_has_ended() -> None:
    sessions = Sessions(GAP_MS, latest=1)
    first = sessions.visit("a", 20)
    sessions.visit("b", 220)
    assert sessions.visit("a", 10) == first
    second = sessions.visit("a", 230)
    assert sessions.visit("a", 15) == first
    assert sessions.visit("a", 300) == second != first


def test_sessions_that_an_older_version_stored_are_continued() -> None:
    state = RunState.from_records("run", [(b"run\0a", b"[1, 90]")])
    of_older = Sessions(GAP_MS)
    assert Sessions(GAP_MS, state.sessions.items()).visit("a", 100) == of_older.visit("a", 1)


@given(VISITS, st.sets(st.integers(0, 40)))
def test_a_run_that_is_interrupted_makes_the_same_sessions(steps: list[tuple[str, int]], stops: set[int]) -> None:
    at_once, in_lives = Sessions(GAP_MS, most=3, latest=3), Sessions(GAP_MS, most=3, latest=3)
    now, kept = 1_000, list[StateRecord]()
    for number, (user, step) in enumerate(steps):
        now += step
        assert in_lives.visit(user, now) == at_once.visit(user, now)
        if number in stops:
            kept += state_records("run", None, RunState().counts, in_lives.changes())
            in_lives = Sessions(GAP_MS, RunState.from_records("run", kept).sessions.items(), most=3, latest=3)
