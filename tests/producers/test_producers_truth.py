"""The truth of a run equals what anyone recounts from its bytes."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.producers.recount import Recount, cells, table_cells
from tidemark.producers.corrupt import corrupt
from tidemark.producers.encode import encode
from tidemark.producers.simulate import Batch, Disorder, Simulator, Site
from tidemark.producers.tally import Tally
from tidemark.producers.truth import Truth

START = 1_700_000_000_000
LATE_BY = 600_000
UNRULY = Disorder(
    jitter_ms=5_000, late_share=0.02, late_by_ms=LATE_BY, future_share=0.01, malformed_share=0.05, duplicate_share=0.04
)


@cache
def counted_both_ways(steps: int = 60, looking: bool = False) -> tuple[Truth, Recount]:
    """The truth and the recount of 100 events a second, for reading; `looking` asks for the truth each time."""
    simulator = Simulator(Site(users=400), UNRULY, START)
    now = START + steps * 1_000
    tally = Tally(simulator.user_ids, 60_000)
    recount = Recount(60_000, LATE_BY, future_from_ms=now)
    for second in range(START, now, 1_000):
        batch = simulator.step(100, second, second + 1_000, now)
        tally.add(batch)
        for partition, value in zip(batch.partitions.tolist(), corrupt(encode(batch.events), batch.kinds), strict=True):
            recount.add(partition, value)
        if looking:
            tally.truth("clicks")
    return tally.truth("clicks"), recount


@pytest.mark.slow
def test_the_truth_equals_an_independent_recount() -> None:
    truth, recount = counted_both_ways()
    sent = truth.sent
    assert recount.reasons == {
        "on_time": sent["on_time"] + sent["jittered"],
        "too_late": sent["too_late"],
        "future": sent["future"],
        "malformed": sent["malformed"],
        "duplicate": sent["duplicate"],
    }
    assert min(sent.values()) > 0
    assert min(truth.malformed.values()) > 0
    assert sum(truth.malformed.values()) == sent["malformed"]
    assert truth.partitions == recount.partitions
    assert table_cells(truth.on_time) == cells(recount.on_time)
    assert table_cells(truth.too_late) == cells(recount.too_late)


def test_looking_at_the_truth_midway_does_not_change_it() -> None:
    assert counted_both_ways(20, looking=True)[0] == counted_both_ways(20)[0]


#   |- 59_999 |- 60_000 ... 119_999 |- 120_000
def test_windows_are_half_open() -> None:
    times = np.array([59_999, 60_000, 119_999, 120_000])
    users, kinds = np.zeros(4, np.int64), np.zeros(4, np.uint8)
    nothing = pa.RecordBatch.from_pydict({})
    tally = Tally(["user-000000"], 60_000)
    tally.add(Batch(nothing, kinds, users, np.array([True, True, False, True]), times, users))
    assert table_cells(tally.truth("clicks").on_time) == {
        ("user-000000", 0): (1, 0),
        ("user-000000", 60_000): (1, 1),
        ("user-000000", 120_000): (1, 0),
    }


def test_a_file_is_replaced_whole_so_that_no_reader_sees_a_part(tmp_path: Path) -> None:
    nothing = Tally(["user-000000"], 60_000)
    nothing.truth("earlier").write(tmp_path / "truth.json")
    with (tmp_path / "truth.json").open() as opened_before:
        nothing.truth("later").write(tmp_path / "truth.json")
        assert json.load(opened_before)["topic"] == "earlier"
    assert Truth.load(tmp_path / "truth.json").topic == "later"


def test_a_file_gives_back_the_truth_that_was_written(tmp_path: Path) -> None:
    truth, _ = counted_both_ways()
    truth.write(tmp_path / "truth.json")
    assert Truth.load(tmp_path / "truth.json") == truth
    assert [file.name for file in tmp_path.iterdir()] == ["truth.json"]


def test_the_file_is_compact_columns_that_any_json_reader_understands(tmp_path: Path) -> None:
    truth, recount = counted_both_ways()
    truth.write(tmp_path / "truth.json")
    file = json.loads((tmp_path / "truth.json").read_text())
    columns, users = file["on_time"], file["users"]
    rows = zip(*(columns[c] for c in ("user", "window_start", "page_views", "clicks")), strict=True)
    found = {(users[user], start): (views, clicks) for user, start, views, clicks in rows}
    assert found == cells(recount.on_time)


def test_the_truth_about_nothing_can_be_written_and_read(tmp_path: Path) -> None:
    nothing = Tally(["user-000000"], 60_000).truth("clicks")
    nothing.write(tmp_path / "truth.json")
    assert Truth.load(tmp_path / "truth.json") == nothing
    assert nothing.on_time.num_rows == 0


@pytest.mark.parametrize("text", ["", "[]", '{"format": "tidemark.truth/0"}'])
def test_another_file_is_not_taken_for_the_truth(tmp_path: Path, text: str) -> None:
    (tmp_path / "truth.json").write_text(text)
    with pytest.raises(ValueError, match="is not a truth file"):
        Truth.load(tmp_path / "truth.json")
