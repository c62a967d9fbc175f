"""The simulated site: reproducible, and people behave as people do."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from tidemark.producers.corrupt import corrupt
from tidemark.producers.encode import encode
from tidemark.producers.kinds import Kind
from tidemark.producers.partition import partition_of
from tidemark.producers.simulate import Batch, Disorder, Simulator, Site, simulate

START = 1_700_000_000_000
UNRULY = Disorder(jitter_ms=5_000, late_share=0.02, future_share=0.01, malformed_share=0.05)


@cache
def batches(site: Site, disorder: Disorder = UNRULY, events: int = 4_000, **more: Any) -> list[Batch]:
    return list(simulate(site, disorder, events=events, start_ms=START, event_rate=50, **more))


def sent(site: Site) -> list[bytes | None]:
    return [value for b in batches(site) for value in corrupt(encode(b.events), b.kinds)]


def rows(found: list[Batch]) -> list[dict[str, Any]]:
    return [row for batch in found for row in batch.events.to_pylist()]


def test_the_same_seed_sends_the_same_bytes_and_another_seed_others() -> None:
    first = sent(Site(users=1_000, seed=5))
    assert first == sent(Site(users=1_000, seed=5))
    assert not set(first[:100]) & set(sent(Site(users=1_000, seed=6))[:100])


@pytest.mark.slow
def test_a_session_begins_with_a_visit_and_a_click_is_on_the_page_in_view() -> None:
    page: dict[tuple[str, str], str] = {}
    for row in rows(batches(Site(users=40), Disorder())):
        session = (row["user_id"], row["session_id"])
        if row["event_type"] == "visit":
            assert row["referrer"] == page.get(session)
            assert row["element_id"] is None
            page[session] = row["page_url"]
        else:
            assert row["page_url"] == page[session]
            assert row["element_id"]
    assert len({user for user, _ in page}) == 40
    assert len(page) > 200  # ten events a session: users leave and come back


def test_no_user_is_on_the_site_twice_at_a_time() -> None:
    for batch in batches(Site(users=40), Disorder()):
        assert len(np.unique(batch.users)) == len(batch)


@pytest.mark.parametrize("exponent", [0.5, 1, 1.2])
def test_users_act_by_their_rank(exponent: float) -> None:
    users = np.concatenate([batch.users for batch in batches(Site(users=1_000, zipf=exponent), Disorder(), 20_000)])
    expected = np.arange(1.0, 1_001) ** -exponent
    acts = np.bincount(users, minlength=1_000)
    assert len(acts) == 1_000
    # The cumulative shares of the first ten, the first hundred and half of all ranks.
    for first in (10, 100, 500):
        assert acts[:first].sum() / 20_000 == pytest.approx(expected[:first].sum() / expected.sum(), rel=0.1)


def test_one_user_has_a_share_of_all_events() -> None:
    users = np.concatenate([batch.users for batch in batches(Site(users=1_000, hot_share=0.1), Disorder(), 20_000)])
    acts = np.bincount(users, minlength=1_000)
    assert acts[0] / 20_000 == pytest.approx(0.1, rel=0.1)
    assert acts[1:].max() < 100


def test_every_event_has_an_id_of_its_own() -> None:
    ids = [row["event_id"] for row in rows(batches(Site(users=400)))]
    assert len(set(ids)) == len(ids) == 4_000


def test_some_are_sent_again_as_they_were_and_counted_apart() -> None:
    first, found = dict[str, dict[str, Any]](), batches(Site(users=400), Disorder(jitter_ms=5_000, duplicate_share=0.1))
    again = 0
    for batch in found:
        for kind, row in zip(batch.kinds, batch.events.to_pylist(), strict=True):
            assert (row["event_id"] in first) == (kind == Kind.DUPLICATE)
            assert first.setdefault(row["event_id"], row) == row
            again += kind == Kind.DUPLICATE
    assert sum(map(len, found)) == 4_000
    assert again == pytest.approx(400 * 9 / 10, abs=60)  # the first of ten batches has no batch before it


def test_nothing_is_sent_again_to_a_partition_that_falls_silent() -> None:
    disorder = Disorder(duplicate_share=0.5, silent_partition=1, silent_after_ms=20_000)
    for batch in batches(Site(users=400), disorder):
        silent = batch.partitions == 1
        assert not (batch.kinds[silent] == Kind.DUPLICATE).any()


def test_a_site_of_one_user_works() -> None:
    (user,) = {row["user_id"] for row in rows(batches(Site(users=1), Disorder(), events=50))}
    assert user == "user-000000"


def test_a_typical_value_is_about_209_bytes() -> None:
    values = [v for b in batches(Site(users=400), Disorder()) for v in encode(b.events)]
    assert 204 <= sum(map(len, values)) / len(values) <= 214


def test_the_batch_describes_its_events_also_where_the_value_is_malformed() -> None:
    for batch in batches(Site(users=400)):
        for at, row in enumerate(batch.events.to_pylist()):
            user = f"user-{batch.users[at]:06d}"
            assert row["user_id"] == ("" if batch.kinds[at] == Kind.EMPTY_USER else user)
            assert batch.partitions[at] == partition_of(user.encode(), 4)
            assert batch.visits[at] == (row["event_type"] == "visit")
            assert batch.times[at] == round(row["event_time"].timestamp() * 1000)


#   0 s         10 s                      80 s
#   |- 0 1 2 3 -|- 0 1 3 ------------------|
def test_a_silent_partition_is_heard_until_its_time_and_never_after() -> None:
    disorder = Disorder(silent_partition=2, silent_after_ms=10_000)
    heard: list[int] = []
    total = 0
    for batch in batches(Site(users=400), disorder):
        heard += batch.times[batch.partitions == 2].tolist()
        total += len(batch)
        late = batch.partitions[batch.times >= START + 10_000]
        assert not len(late) or len(np.unique(late)) == 3
    assert START + 9_000 < max(heard) < START + 10_000
    assert 2_900 < total < 3_300  # of 4,000, a quarter of those after the first 500 are gone


def test_no_time_passes_between_steps_unseen() -> None:
    simulator = Simulator(Site(users=400), Disorder(), START)
    times = simulator.step(100, START, START + 1_000, START).times
    assert times[0] == START
    assert times[-1] == START + 990


@pytest.mark.parametrize(
    ("disorder", "start_ms", "partitions", "words"),
    [
        (Disorder(silent_partition=4), START, 4, "partition 4 cannot go silent"),
        (Disorder(silent_partition=-1), START, 4, "partition -1 cannot go silent"),
        (Disorder(silent_partition=0), START, 1, "topic of 1 partition"),
        (Disorder(), 600_000, 4, "start later"),
    ],
)
def test_impossible_simulations_are_refused(disorder: Disorder, start_ms: int, partitions: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Simulator(Site(users=4), disorder, start_ms, partitions)
