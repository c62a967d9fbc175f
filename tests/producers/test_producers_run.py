"""Pace: how many events leave when, and what time they say it is."""

from collections.abc import Callable, Sequence

import pytest

from tests.producers.recount import decode
from tidemark.producers.run import Pace, run
from tidemark.producers.simulate import Disorder, Simulator, Site
from tidemark.producers.tally import Tally

NOW = 1_700_000_000_000


class FakeSink:
    """Keeps what it is sent, and owns the clock: waiting, and `send_ms` per send, pass time."""

    send_ms = 0

    def __init__(self) -> None:
        self.now = float(NOW)
        self.sent: list[tuple[float, bytes, bytes | None, int]] = []

    def send(self, keys: Sequence[bytes], values: Sequence[bytes | None], partitions: Sequence[int]) -> None:
        """Keep records and when they came."""
        records = zip(keys, values, partitions, strict=True)
        self.sent += [(self.now, *record) for record in records]
        self.now += self.send_ms

    def wait(self, seconds: float) -> None:
        """Move the clock."""
        self.now += seconds * 1000

    def now_ms(self) -> int:
        """The clock, in ms."""
        return int(self.now)

    def times(self) -> list[int]:
        """The event times that were sent, in ms."""
        decoded = [decode(value) for _, _, value, _ in self.sent]
        return [event["event_time"] for event in decoded if event]


def ran(
    pace: Pace,
    disorder: Disorder | None = None,
    start_ms: int = NOW,
    stopped: Callable[[FakeSink], bool] = lambda _: False,
    sink: FakeSink | None = None,
) -> FakeSink:
    sink = sink or FakeSink()
    simulator = Simulator(Site(users=400), disorder or Disorder(), start_ms)
    tally = Tally(simulator.user_ids, 60_000)
    run(pace, simulator, sink, tally, now_ms=sink.now_ms, stopped=lambda: stopped(sink))
    assert sum(tally.truth("clicks").sent.values()) == len(sink.sent)
    return sink


@pytest.mark.parametrize(("rate", "seconds"), [(0.5, 20), (3, 7), (50, 1), (1_000, 1)])
def test_a_paced_run_sends_its_rate_for_its_duration(rate: float, seconds: int) -> None:
    sink = ran(Pace(rate, duration_ms=seconds * 1000))
    assert len(sink.sent) == pytest.approx(rate * seconds, abs=max(1, rate * 0.05))


def test_a_paced_run_bundles_its_events_instead_of_spinning_for_each_few() -> None:
    busy = FakeSink()
    busy.send_ms = 1
    sink = ran(Pace(2_000, duration_ms=1_000), sink=busy)
    assert 40 <= len({at for at, *_ in sink.sent}) <= 50


def test_a_paced_run_is_even_over_its_seconds() -> None:
    sink = ran(Pace(500, duration_ms=2_000))
    for second in range(2):
        begin = NOW + second * 1_000
        assert 450 < sum(begin <= at < begin + 1_000 for at, *_ in sink.sent) < 550


@pytest.mark.parametrize("rate", [0, 700])
@pytest.mark.parametrize("events", [1, 99, 100, 101, 1_234])
def test_a_bounded_run_sends_exactly_its_number_of_events(rate: float, events: int) -> None:
    assert len(ran(Pace(rate, events=events)).sent) == events


def test_a_bounded_run_also_sends_that_many_when_a_partition_is_silent() -> None:
    disorder = Disorder(silent_partition=1, silent_after_ms=0)
    sink = ran(Pace(0, events=1_000), disorder)
    assert len(sink.sent) == 1_000
    assert {partition for *_, partition in sink.sent} == {0, 2, 3}


def test_a_live_run_says_the_time_it_is() -> None:
    sink = ran(Pace(200, duration_ms=1_000))
    for (sent_at, *_), said in zip(sink.sent, sink.times(), strict=True):
        assert sent_at - 30 <= said <= sent_at
    assert sink.times() == sorted(sink.times())


#   a backlog of 1,000 events at 10 per second of event time, sent at once
#   |<------------------ 100 s ------------------>| now
def test_a_backlogs_event_time_advances_at_its_own_pace() -> None:
    times = ran(Pace(0, events=1_000, event_rate=10), start_ms=NOW - 100_000).times()
    assert times == [NOW - 100_000 + 100 * n for n in range(1_000)]


def test_a_backlogs_event_time_never_passes_the_wall_clock() -> None:
    times = ran(Pace(0, events=1_000, event_rate=10), start_ms=NOW - 50_000).times()
    assert max(times) == NOW
    assert times == sorted(times)


def test_a_run_that_is_stopped_sends_no_more() -> None:
    sink = ran(Pace(1_000), stopped=lambda sink: len(sink.sent) >= 300)
    assert 300 <= len(sink.sent) < 400


def test_the_key_is_the_users_id_also_of_a_malformed_value() -> None:
    sink = ran(Pace(0, events=2_000), Disorder(malformed_share=0.5))
    wellformed = [(key, decode(value)) for _, key, value, _ in sink.sent]
    assert all(key == event["user_id"].encode() for key, event in wellformed if event)
    assert all(key.startswith(b"user-") for key, _ in wellformed)
