"""Disorder: shares are respected and displacements stay within what was asked for."""

import numpy as np
import pytest

from tidemark.producers.disorder import Disorder, choose_kinds, displace
from tidemark.producers.kinds import MALFORMED, Kind

NOW = 1_700_000_000_000
EVENTS = 100_000
ACTED = NOW - EVENTS + np.arange(EVENTS)
POLICY = Disorder(
    jitter_ms=5_000, jitter_share=0.4, late_share=0.03, late_after_ms=0, future_share=0.02, malformed_share=0.05
)


def kinds_of(disorder: Disorder, age: int = 0) -> "dict[Kind, float]":
    kinds = choose_kinds(disorder, np.random.default_rng(0), np.full(EVENTS, age))
    return {kind: float((kinds == kind).mean()) for kind in Kind}


def shifts(disorder: Disorder, kind: Kind, now_ms: int = NOW) -> "list[int]":
    rng = np.random.default_rng(0)
    kinds = np.full(EVENTS, kind, np.uint8)
    found: list[int] = (displace(disorder, rng, ACTED, kinds, now_ms) - ACTED).tolist()
    return found


def test_each_kind_has_the_share_that_was_asked_for() -> None:
    share = kinds_of(POLICY)
    assert share[Kind.TOO_LATE] == pytest.approx(0.03, abs=0.003)
    assert share[Kind.FUTURE] == pytest.approx(0.02, abs=0.003)
    assert share[Kind.JITTERED] == pytest.approx(0.4 * 0.9, abs=0.006)
    for kind in MALFORMED:
        assert share[kind] == pytest.approx(0.05 / len(MALFORMED), abs=0.002)


def test_without_disorder_every_event_is_on_time() -> None:
    assert kinds_of(Disorder())[Kind.ON_TIME] == 1


def test_only_the_malformed_kinds_asked_for_are_sent() -> None:
    share = kinds_of(Disorder(malformed_share=1, malformed_kinds=(Kind.TOMBSTONE,)))
    assert share[Kind.TOMBSTONE] == 1


#   0 s                  30 s
#   |- not yet too late --|- too late ->
def test_nothing_is_too_late_before_its_time() -> None:
    assert kinds_of(Disorder(late_share=1), age=29_999)[Kind.ON_TIME] == 1
    assert kinds_of(Disorder(late_share=1), age=30_000)[Kind.TOO_LATE] == 1


def test_jitter_is_backwards_and_reaches_the_bound_but_not_beyond() -> None:
    found = shifts(POLICY, Kind.JITTERED)
    assert min(found) == -5_000
    assert max(found) == -1


def test_too_late_events_are_late_by_what_was_asked_for() -> None:
    assert set(shifts(POLICY, Kind.TOO_LATE)) == {-600_000}


def test_on_time_events_are_not_displaced() -> None:
    assert set(shifts(POLICY, Kind.ON_TIME)) == {0}


def test_future_events_are_ahead_of_the_wall_clock_even_when_the_past_is_replayed() -> None:
    a_week = 7 * 86_400_000
    ahead_of_now = np.array(shifts(POLICY, Kind.FUTURE, NOW + a_week)) + ACTED - NOW - a_week
    assert set(ahead_of_now.tolist()) == {3_600_000}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"late_share": 0.5, "future_share": 0.4, "malformed_share": 0.2}, "add up to 1.1"),
        ({"late_share": 0.1, "late_by_ms": 5_000, "jitter_ms": 5_000}, "raise late-by"),
        ({"malformed_share": 0.1, "malformed_kinds": ()}, "needs at least one kind"),
    ],
)
def test_a_policy_that_contradicts_itself_is_refused(wrong: "dict[str, float]", words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Disorder(**wrong)  # type: ignore[arg-type]
