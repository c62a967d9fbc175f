"""The limits per address."""

import pytest

from tidemark.producers.collect.rates import BURST_S, Rates, client_key
from tidemark.producers.collect.variety import Variety

ANN, BOB = "192.0.2.1", "192.0.2.2"


def admitted(rates: Rates, address: str, asks: int, now_s: float) -> int:
    return sum(rates.take(address, 1, now_s) for _ in range(asks))


def test_an_address_has_its_burst_and_then_its_rate() -> None:
    rates = Rates(2)
    assert admitted(rates, ANN, 100, now_s=0) == 2 * BURST_S
    assert admitted(rates, ANN, 100, now_s=3) == 2 * 3
    assert admitted(rates, ANN, 100, now_s=1_000_000) == 2 * BURST_S


def test_a_refused_request_does_not_count_for_the_rate() -> None:
    rates = Rates(1)
    assert admitted(rates, ANN, BURST_S, now_s=0) == BURST_S
    assert [rates.take(ANN, 1, now_s) for now_s in (0.5, 0.9, 1.0)] == [False, False, True]


def test_each_address_has_a_rate_of_its_own() -> None:
    rates = Rates(1)
    assert admitted(rates, ANN, 100, now_s=0) == BURST_S
    assert admitted(rates, BOB, 100, now_s=0) == BURST_S


def test_a_rate_below_one_a_second_still_admits_one() -> None:
    rates = Rates(0.01)
    assert [rates.take(ANN, 1, now_s) for now_s in (0, 99, 100)] == [True, False, True]


def test_a_rate_counts_events_and_what_a_request_has_beyond_it_is_a_debt() -> None:
    rates = Rates(2)
    assert rates.take(ANN, 100, now_s=0)
    assert not rates.take(ANN, 1, now_s=40)
    assert rates.take(ANN, 1, now_s=40.5)
    assert rates.take(BOB, 2 * BURST_S, now_s=0)
    assert not rates.take(BOB, 0, now_s=0)
    assert rates.take(BOB, 0, now_s=0, least=0)


def test_new_values_of_an_address_are_limited_per_hour_and_known_values_are_not() -> None:
    users = Variety(2)
    assert [users.admits(ANN, user, 0) for user in "abcab"] == [True, True, False, True, True]
    assert users.admits(BOB, "c", 0)
    assert [users.admits(ANN, user, 1_800) for user in "cd"] == [True, False]
    assert all(Variety(0).admits(ANN, str(number), 0) for number in range(10_000))


def test_a_limited_number_of_values_is_remembered() -> None:
    users = Variety(2, remembered=1)
    assert [users.admits(ANN, user, 0) for user in "aabba"] == [True, True, True, True, False]


def test_a_rate_of_0_is_no_limit() -> None:
    assert admitted(Rates(0), ANN, 10_000, now_s=0) == 10_000


def test_only_the_addresses_that_asked_last_are_remembered() -> None:
    rates = Rates(0.01, addresses=2)
    assert [rates.take(address, 1, 0) for address in (ANN, BOB, ANN, "192.0.2.3")] == [True, True, False, True]
    assert [rates.take(address, 1, 0) for address in (ANN, BOB)] == [False, True]


@pytest.mark.parametrize(
    ("address", "who"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::"),
        ("2001:db8:1:2::", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("un:known", "un:known"),
    ],
)
def test_a_subscriber_is_one_whatever_addresses_he_has(address: str, who: str) -> None:
    assert client_key(address) == who
