"""Users in buckets: a publication rewrites those with a change in them, and each user is in the table once."""

import shutil
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import DeltaError
from hypothesis import given
from hypothesis import strategies as st

from tests.crash.store_faults import Refusal, refusing
from tests.privacy.test_erase_meanwhile import Meanwhile
from tests.support.conservation import violations
from tests.support.seeds import drawn
from tests.support.warehouse import rows, user_totals
from tests.verify.site import MINUTE, NOON, POLICY, REPORTS, Event, Site
from tidemark.pipeline.amend.erase.erasure import erase_person
from tidemark.pipeline.errors import Replaced
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.window_states import Firings
from tidemark.pipeline.results import buckets
from tidemark.pipeline.results.corrections import Corrections
from tidemark.pipeline.results.kind_registry import kinds_of
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.housekeeping import take_over
from tidemark.pipeline.tables.schemas import USER_TOTALS
from tidemark.pipeline.tables.transactions import PUBLISHED_APP
from tidemark.pipeline.tuning import STANDARD, Tuning

pytestmark = pytest.mark.slow
SMALL = replace(POLICY, reports=REPORTS[:1])
GAP = 5
HASHES = st.lists(st.integers(0, 2**20 - 1), unique=True, max_size=90)


FEW = Tuning(bucket_rows=3, chunk_rows=6)
"""A bucket has at most three users, and a commit six rows."""


@given(HASHES, st.integers(0, 90), st.integers(1, 9))
def test_a_split_moves_only_users_of_the_bucket_that_is_split(hashes: list[int], first: int, most: int) -> None:
    known, more = np.array(hashes[:first], dtype=np.int64), np.array(hashes[first:], dtype=np.int64)
    before = buckets.split(known, (), most)
    there = {*before.tolist()}
    found = buckets.bucket_of(more, there)
    for bucket in {*found.tolist()}:
        here = np.concatenate([known[before == bucket], more[found == bucket]])
        after = buckets.split(here, there, most)
        grown = there | {*after.tolist()}
        assert max(np.unique(after, return_counts=True)[1]) <= most
        assert (buckets.bucket_of(here, grown) == after).all()
        others = known[before != bucket]
        assert (buckets.bucket_of(others, grown) == before[before != bucket]).all()


class Truth:
    """The events of each user, by minute."""

    def __init__(self) -> None:
        self.minutes = defaultdict[str, list[float]](list)

    def add(self, events: list[Event]) -> list[Event]:
        for event in events:
            self.minutes[event.user].append(event.minute)
        return events

    def totals(self) -> dict[str, tuple[int, int, int, int, int]]:
        """As `user_totals` has them."""
        return {user: self._of(sorted(minutes)) for user, minutes in self.minutes.items()}

    def _of(self, minutes: list[float]) -> tuple[int, int, int, int, int]:
        first, last = (NOON + round(minutes[place] * MINUTE) for place in (0, -1))
        return first, last, 1 + sum(later - one > GAP for one, later in pairwise(minutes)), len(minutes), 0


def steps(chance: Random, number: int) -> Iterator[list[Event]]:
    """Batches of ten minutes each, so that totals fall due with every one."""
    for place in range(number):
        names = [f"user-{chance.randrange(60)}" for _ in range(chance.choice([1, 4, 12]))]
        yield [Event(place * 10 + chance.randrange(40) / 4, user) for user in [*names, f"new-{place}"]]


def files(warehouse: Path) -> dict[str, int]:
    """The bucket of each file."""
    actions = DeltaTable(USER_TOTALS.uri(str(warehouse))).get_add_actions(flatten=True)
    return dict(zip(actions["path"].to_pylist(), actions["partition.bucket"].to_pylist(), strict=True))


@pytest.mark.core
@pytest.mark.parametrize(
    ("seed", "at_a_time"),
    [
        pytest.param(0, STANDARD.statement_rows, id="0-at once"),
        *drawn(
            [
                pytest.param(1, STANDARD.statement_rows, id="1-at once"),
                pytest.param(0, 2, id="0-in parts"),
                pytest.param(1, 2, id="1-in parts"),
            ],
            count=1,
        ),
    ],
)
def test_the_table_is_the_truth_after_every_batch_and_only_what_changed_is_written(
    seed: int, at_a_time: int, tmp_path: Path
) -> None:
    chance, truth = Random(seed), Truth()
    site = Site(tmp_path, SMALL, tuning=replace(FEW, statement_rows=at_a_time)).open()
    spared = 0
    for place, events in enumerate(steps(chance, 12)):
        before = files(tmp_path) if place else {}
        act = chance.choice(["publish", "publish", "kill", "compact", "start"])
        site.batch(*truth.add(events), publish=act != "kill")
        if act == "kill":
            refusal = Refusal("user_totals", f"user_id <> 'new-{place}'")
            with refusing(tmp_path, [refusal]), pytest.raises(DeltaError):
                site.publish_again()
            user_totals(tmp_path)  # fails if a user repeats
        if act in ("kill", "start"):
            site.open()
        if act == "compact":
            site.compact()
        assert user_totals(tmp_path) == truth.totals()
        hashed = buckets.hashes(pa.chunked_array([[event.user for event in events]]))
        touched = {*buckets.bucket_of(hashed, {*before.values()}).tolist()}
        same = {path for path, bucket in before.items() if bucket not in touched}
        assert same <= files(tmp_path).keys()
        spared += len(same)
    assert spared
    assert max(files(tmp_path).values()) > 8
    assert not violations(tmp_path)


def test_a_start_with_nothing_new_writes_no_file(tmp_path: Path) -> None:
    site = (
        Site(tmp_path, SMALL, tuning=FEW)
        .open()
        .batch(*(Event(1, f"user-{number}") for number in range(20)))
        .batch(Event(11))
    )
    before = files(tmp_path)
    site.open()
    assert files(tmp_path) == before


def test_a_removed_table_is_recreated(tmp_path: Path) -> None:
    site = (
        Site(tmp_path, SMALL, tuning=FEW)
        .open()
        .batch(*(Event(1, f"user-{number}") for number in range(20)))
        .batch(Event(11))
    )
    before = user_totals(tmp_path)
    shutil.rmtree(tmp_path / "user_totals")
    site.open()
    assert user_totals(tmp_path) == before
    assert not violations(tmp_path)


def due_of_many(warehouse: Path) -> tuple[Site, Firings]:
    """A site of few users whose last batch brought more of them, and what of it is not published yet."""
    site = (
        Site(warehouse, SMALL, tuning=FEW)
        .open()
        .batch(*(Event(1, f"user-{number}") for number in range(3)))
        .batch(Event(11))
    )
    site.batch(*(Event(21, f"user-{number}") for number in range(20)), publish=False)
    return site, {"user_totals": site.dues["user_totals"]}


def test_a_replaced_service_cannot_commit_between_two_commits_of_a_publication(tmp_path: Path) -> None:
    site, due = due_of_many(tmp_path)

    def meanwhile() -> None:
        with pytest.raises(Replaced):
            site.publication.publish(due, site.number)

    newer, number = (
        Meanwhile(kinds_of(str(tmp_path), SMALL, tuning=FEW)[1], meanwhile),
        (site.number // EPOCH + 1) * EPOCH,
    )
    take_over(str(tmp_path), (), number, None)
    Publication(str(tmp_path), [newer]).publish(due, number)
    assert len(user_totals(tmp_path)) == 21


@pytest.mark.parametrize("at_a_time", [STANDARD.statement_rows, 2], ids=["at once", "in parts"])
def test_users_are_taken_in_parts_where_they_are_many(at_a_time: int, tmp_path: Path) -> None:
    site = Site(tmp_path, SMALL, tuning=replace(FEW, statement_rows=at_a_time)).open()
    before = DeltaTable(USER_TOTALS.uri(str(tmp_path))).version()
    site.batch(*(Event(1, f"user-{number}") for number in range(40))).batch(Event(11))
    commits = DeltaTable(USER_TOTALS.uri(str(tmp_path))).version() - before
    assert commits > 12 if at_a_time == 2 else commits < 4, commits
    assert len(user_totals(tmp_path)) == 41


def test_rows_that_an_older_process_wrote_meanwhile_are_not_there_twice(tmp_path: Path) -> None:
    site, due = due_of_many(tmp_path)
    last = site.number
    site.batch(Event(31, "user-1"), publish=False)
    newer = Meanwhile(kinds_of(str(tmp_path), SMALL, tuning=FEW)[1], lambda: site.publication.publish(due, last))
    Publication(str(tmp_path), [newer]).publish(due, site.number)
    assert len(user_totals(tmp_path)) == 21
    assert not violations(tmp_path)


@pytest.mark.core
def test_a_correction_counts_once_even_after_an_earlier_correction_was_erased(tmp_path: Path) -> None:
    site = (
        Site(tmp_path, SMALL, tuning=FEW)
        .open()
        .batch(*(Event(1, f"user-{number}") for number in range(20)))
        .batch(Event(11))
    )
    fixed = {"report": "user_totals", "topic": "t", "partition": 0, "page_views": 1, "clicks": 0, "late_events": 0}

    def decide(user: str) -> None:
        offset = len(rows(tmp_path, "corrections"))
        assert corrections.append_next([{**fixed, "offset": offset, "event_time": NOON, "user_id": user}])

    corrections = Corrections(str(tmp_path))
    decide("eve")
    before = files(tmp_path)
    site.batch(Event(21))
    site.batch(Event(31))
    found = user_totals(tmp_path)
    assert found.get("eve") == (NOON, NOON, 1, 1, 0)
    assert found["ann"] == (NOON + 11 * MINUTE, NOON + 31 * MINUTE, 3, 3, 0)
    assert len(before.keys() - files(tmp_path).keys()) <= 2, "the buckets of the two"
    erase_person(Settings(warehouse=str(tmp_path)), "eve", timedelta(0))
    corrections = Corrections(str(tmp_path))
    decide("fay")
    site.batch(Event(41))
    assert user_totals(tmp_path).keys() == found.keys() - {"eve"} | {"fay"}


def older_table(warehouse: Path) -> None:
    """Has the table as it was made before there were buckets."""
    uri = USER_TOTALS.uri(str(warehouse))
    table = DeltaTable(uri)
    told, published = table.metadata().configuration, table.transaction_version(PUBLISHED_APP) or 0
    data = table.to_pyarrow_table().drop_columns("bucket")
    shutil.rmtree(uri)
    made = DeltaTable.create(uri, data.schema, configuration=told, raise_if_key_not_exists=False)
    done = CommitProperties(app_transactions=[Transaction(PUBLISHED_APP, published)])
    write_deltalake(made, data, mode="append", commit_properties=done)


def test_a_table_without_buckets_gets_them_at_a_start_and_goes_on(tmp_path: Path) -> None:
    truth = Truth()
    site = (
        Site(tmp_path, SMALL, tuning=FEW).open().batch(*truth.add([Event(1, f"user-{number}") for number in range(20)]))
    )
    site.batch(*truth.add([Event(11)]))
    older_table(tmp_path)
    assert not violations(tmp_path)
    assert "bucket" not in rows(tmp_path, "user_totals")[0]
    assert user_totals(tmp_path) == truth.totals()
    site.open()
    assert len({*files(tmp_path).values()}) > 4
    assert user_totals(tmp_path) == truth.totals()
    site.batch(*truth.add([Event(21, "user-3"), Event(21, "dan")]))
    assert user_totals(tmp_path) == truth.totals()
    assert not violations(tmp_path)
