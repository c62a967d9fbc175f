"""Sessions by gap: the same visits make the same sessions, however often the run was interrupted."""

from hypothesis import given
from hypothesis import strategies as st

from producers.access_log.sessions import Session, Sessions
from producers.access_log.state import RunState, StateRecord, state_records

GAP_MS = 100
VISITS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(-40, 160)), max_size=40)


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


def test_a_session_ends_when_other_visits_are_later_by_more_than_the_gap() -> None:
    sessions = Sessions(GAP_MS)
    sessions.visit("a", 1)
    sessions.visit("b", 101)
    assert dict(sessions.changes()) == {"a": Session(1, 1), "b": Session(101, 101)}
    sessions.visit("b", 102)
    assert dict(sessions.changes()) == {"a": None, "b": Session(101, 102)}
    assert list(sessions.changes()) == []


def test_beyond_the_limit_the_session_that_was_silent_for_longest_ends() -> None:
    sessions = Sessions(GAP_MS, most=2)
    first = sessions.visit("a", 1)
    assert sessions.visit("b", 2) != first
    assert sessions.visit("a", 3) == first
    sessions.visit("c", 4)
    assert dict(sessions.changes()) == {"a": Session(1, 3), "b": None, "c": Session(4, 4)}


@given(VISITS, st.sets(st.integers(0, 40)))
def test_a_run_that_is_interrupted_makes_the_same_sessions(steps: list[tuple[str, int]], stops: set[int]) -> None:
    at_once, in_lives = Sessions(GAP_MS, most=3), Sessions(GAP_MS, most=3)
    now, kept = 1_000, list[StateRecord]()
    for number, (user, step) in enumerate(steps):
        now += step
        assert in_lives.visit(user, now) == at_once.visit(user, now)
        if number in stops:
            kept += state_records("run", None, RunState().counts, in_lives.changes())
            in_lives = Sessions(GAP_MS, RunState.from_records("run", kept).sessions.items(), most=3)
