"""The load on a collector is what browsers would send, and its figures are those of the answers."""

import pytest

from benchmarks.collect.load import request, send
from benchmarks.collect.part import COLLECTOR, KAFKA, PEER, Plan, render
from benchmarks.collect.peer import PEER as APPLICATION
from benchmarks.errors import BenchmarkError
from tests.producers.collect.collect_client import NOW_MS, served
from tidemark.producers.collect.reading import read

pytestmark = pytest.mark.slow

PLAN = Plan(seconds=0.2, browsers=2, rounds=1)


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


@pytest.mark.parametrize("events", PLAN.events)
def test_a_request_is_one_that_the_collector_takes_whole(events: int) -> None:
    records, rejected = read(request(events).partition(b"\r\n\r\n")[2], NOW_MS, None)
    assert (len(records), rejected) == (events, [])


def test_every_answer_is_counted_and_timed() -> None:
    with served(APPLICATION) as ask:
        answers = send(port_of(ask.address), request(1), PLAN.browsers, PLAN.seconds)
    assert len(answers.waits_s) >= PLAN.browsers
    assert PLAN.seconds <= answers.seconds
    assert sum(answers.waits_s) <= answers.seconds * PLAN.browsers


def test_an_answer_with_an_error_status_ends_the_benchmark() -> None:
    with served(APPLICATION) as ask, pytest.raises(BenchmarkError, match="404 Not Found"):
        send(port_of(ask.address), request(1).replace(b"/events", b"/nowhere"), 1, PLAN.seconds)


def test_rates_are_compared_with_the_server_alone() -> None:
    row = {"events": 1, "cpu_us_per_event": 10.0, "median_ms": 1.0, "p99_ms": 2.0}
    rows = [{**row, "name": PEER, "rate": 4_000.0}, {**row, "name": COLLECTOR, "rate": 1_000.0}]
    without = {"name": KAFKA, "events": 1, "cpu_us_per_event": 5.0, "rate": 8_000.0}
    shown = render([*rows, without], PLAN)
    assert list(shown.columns[3].cells) == ["1.00", "0.25", "2.00"]
