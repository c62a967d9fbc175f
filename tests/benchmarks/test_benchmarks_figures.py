"""The figures of a freshness run, from samples and ledger rows that were made by hand."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.freshness.figures import (
    Compiled,
    Figures,
    Load,
    Memory,
    Record,
    Sample,
    Span,
    age_by_slice,
    compiled,
    cores,
    percentile,
    publications,
    read_samples,
    slice_of,
    work_out,
)
from benchmarks.freshness.part import curve, render
from benchmarks.freshness.polling import DeltaLog, FinishedFiles, events_in
from benchmarks.freshness.service import steps_of
from benchmarks.freshness.visible import Arrivals, Sighting, Visibility, due_at, visibility_of


def ledger(*rows: tuple[int, int, int, int, int]) -> pa.Table:
    """Rows of (batch, partition, from_offset, to_offset, committed_at)."""
    names = ["batch", "partition", "from_offset", "to_offset", "committed_at"]
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])


def test_a_record_is_as_old_as_the_commit_that_covers_its_offset_is_late() -> None:
    # The first row opens the epoch and covers nothing; the second batch brings partition 1 nothing.
    rows = ledger((0, 0, 0, 0, 5), (1, 0, 0, 2, 1000), (1, 1, 0, 1, 1000), (2, 0, 2, 3, 2500), (2, 1, 1, 1, 2500))
    records = [Record(0, 0, 900), Record(0, 1, 950), Record(0, 2, 1900), Record(1, 0, 700)]
    found = age_by_slice(records, rows, began=500, slice_ms=1000)
    assert found == {500: {100: 1, 50: 1, 300: 1}, 1500: {600: 1}}


def test_an_offset_that_was_never_committed_has_no_age() -> None:
    with pytest.raises(IndexError):
        age_by_slice([Record(0, 7, 900)], ledger((1, 0, 0, 7, 1000)), began=0, slice_ms=1000)


def test_a_percentile_is_the_smallest_value_that_the_share_does_not_exceed() -> None:
    histogram = Counter({10: 50, 20: 49, 90: 1})
    assert [percentile(histogram, share) for share in (0.5, 0.51, 0.99, 1.0)] == [10, 20, 20, 90]


def test_compilations_are_counted_apart_for_publication_batches_and_warm_up() -> None:
    #    warm-up | batch   publishing 2000..2600   batch
    seen = [(0, 3), (500, 9), (1000, 9), (1500, 10), (1900, 10), (2100, 16), (2700, 17), (3500, 17), (3600, 19)]
    found = compiled(
        [Sample(*each) for each in seen],
        publishing=[Span(2000, 2600)],
        commits=[800, 1600, 2000, 3400, 4400],
        warm=Span(1000, 4000),
    )
    assert found == Compiled(1, in_publication=7, batches=3, outside_at={1500: 1, 3600: 2}, batches_with_one=2)


def test_a_slice_shows_ages_memory_and_the_steps_within_it() -> None:
    samples = [
        Sample(0, 3, None, {"fold": (10, 5.0)}),
        Sample(100, 3, Memory(10, 100, 70)),
        Sample(600, 3, Memory(20, 300, 50)),
        Sample(900, 3, None, {"fold": (14, 7.0)}),
        Sample(1000, 3, Memory(99, 999, 99), {"fold": (15, 9.0)}),
    ]
    samples = read_samples(json.dumps(samples))
    found = slice_of(Span(0, 1000), Counter({40: 2, 60: 1}), 1, samples, [300, 1000])
    assert (found.records, found.median_ms, found.max_ms, found.batches) == (3, 40, 60, 1)
    assert found.memory == Memory(15, 200, 50)
    assert found.steps == {"fold": 0.5}
    assert not found.warm


def test_a_run_counts_what_was_produced_after_the_warm_up_and_shows_the_slices_in_which_something_was(
    tmp_path: Path,
) -> None:
    #       warm-up 0..1000 | nothing 1000..2000 | 2000..3000, and one record after the planned end
    records = [Record(0, 0, 100), Record(0, 1, 900), Record(0, 2, 2100), Record(0, 3, 2200), Record(0, 4, 3010)]
    rows = ledger((1, 0, 0, 2, 1000), (2, 0, 2, 4, 2300), (3, 0, 4, 5, 3110))
    load = Load(rate=1, users=1, warm_up_ms=1000, duration_ms=2000, slice_ms=1000)
    found = work_out(load, Span(0, 3020), str(tmp_path), rows, records, [])
    assert (found.records, found.median_ms, found.p99_ms) == (3, 100, 200)
    assert (found.median_with_warm_up_ms, found.p99_with_warm_up_ms) == (100, 900)
    assert [(one.span.start, one.warm, one.records) for one in found.slices] == [(0, False, 2), (2000, True, 2)]
    assert found.compiled == Compiled(0, 0, 2, {}, 0)
    goals, slices = render(found)
    assert (goals.row_count, slices.row_count) == (8, 2)
    assert (found.cores, found.publication_ms) == (None, [])


def test_cores_are_busy_from_the_first_look_at_them_to_the_last() -> None:
    looks = [Sample(0, 0, cpu_s=10.0), Sample(500, 0), Sample(2_000, 0, cpu_s=11.0), Sample(2_100, 0)]
    assert cores(looks) == 0.5
    assert cores(looks[:2]) is None


def test_runs_are_a_curve() -> None:
    load = Load(5_000, 300, 0, 1, 1, 500)
    one = Figures(1, 600, 1100, 0, 0, Compiled(0, 0, 120, {}, 0), [], 0.97, [300, 500, 400])
    table = curve({load: one, replace(load, users=4_000, interval_ms=0): replace(one, cores=None, publication_ms=[])})
    columns = [list(column.cells) for column in table.columns]
    assert columns[0] == ["0.5 s", "0 s"]
    assert columns[1:5] == [["300", "4,000"], ["0.60", "0.60"], ["1.10", "1.10"], ["120", "120"]]
    assert columns[5:] == [["0.97", "-"], ["0.40 s and 0.50 s", "-"]]


def test_a_publication_lasts_from_the_commit_of_its_batch_to_its_version_of_the_table(tmp_path: Path) -> None:
    first: list[dict[str, Any]] = [{"metaData": {}}]
    fence: list[dict[str, Any]] = [{"txn": {"appId": "tidemark", "version": 7}}, {"commitInfo": {"timestamp": 50}}]
    publication: list[dict[str, Any]] = [
        {"commitInfo": {"timestamp": 900}},
        {"txn": {"appId": "tidemark", "version": 8}},
        {"add": {}},
    ]
    log = tmp_path / "page_views" / "_delta_log"
    log.mkdir(parents=True)
    merge: list[dict[str, Any]] = [{"commitInfo": {"timestamp": 950}}, {"add": {"dataChange": False}}]
    nothing: list[dict[str, Any]] = [{"txn": {"appId": "tidemark", "version": 9}}, {"commitInfo": {"timestamp": 990}}]
    a_part_of_many: list[dict[str, Any]] = [{"commitInfo": {"timestamp": 1_100}}, {"add": {"dataChange": True}}]
    last: list[dict[str, Any]] = [{"txn": {"appId": "tidemark", "version": 10}}, {"commitInfo": {"timestamp": 1_300}}]
    for number, actions in enumerate([first, fence, publication, merge, nothing, a_part_of_many, last]):
        (log / f"{number:020}.json").write_text("\n".join(map(json.dumps, actions)))
    rows = ledger((7, 0, 0, 0, 40), (8, 0, 0, 9, 600), (9, 0, 9, 9, 980), (10, 0, 9, 12, 1_000))
    assert publications(str(tmp_path), rows) == [Span(600, 900), Span(1_000, 1_300)]


def test_the_seconds_of_steps_are_read_from_a_metrics_page() -> None:
    name = "tidemark_batch_duration_seconds"
    page = f'# TYPE {name} histogram\n{name}_bucket{{step="fold",le="+Inf"}} 4\n'
    page += f'{name}_count{{step="fold"}} 4\n{name}_sum{{step="fold"}} 2.5\n# TYPE other counter\nother_total 1\n'
    assert steps_of(page) == {"fold": (4, 2.5)}


def arrivals(*events: tuple[int, int]) -> Arrivals:
    """Makes a partition of (event time, Kafka timestamp)."""
    event_times, timestamps = zip(*events, strict=True)
    return Arrivals(np.array(event_times), np.array(timestamps))


# Windows of 100 ms, a bound of 50 ms: the window [0, 100) is due when both partitions have reached 150.
#
#   timestamp      1000   1010   1020   1030   1040   1050
#   partition 0      10          *150           140    250
#   partition 1             20          *160    260
PARTITIONS = [
    arrivals((10, 1000), (150, 1020), (140, 1040), (250, 1050)),
    arrivals((20, 1010), (160, 1030), (260, 1040)),
]


def test_a_window_is_due_when_the_last_partition_has_moved_the_watermark_to_its_end() -> None:
    found = due_at(PARTITIONS, [100, 200, 300], bound_ms=50)
    assert (found[100], found[200]) == (1030, 1050)
    assert found[300] > 10**15  # no partition has come that far


COUNTED = Span(1025, 1051)


def visibility(*sightings: Sighting, counted: Span = COUNTED) -> Visibility:
    return visibility_of(PARTITIONS, sightings, counted, 0.013, window_ms=100, bound_ms=50)


def test_a_window_is_visible_when_the_last_of_its_rows_is() -> None:
    #                 a file of each of two writers, and a window that is not due
    seen = [
        Sighting(1070, Counter({100: 1})),
        Sighting(1090, Counter({100: 1, 200: 3})),
        Sighting(1099, Counter({0: 9})),
    ]
    found = visibility(*seen)
    assert (found.windows, found.median_ms, found.p99_ms, found.max_ms) == (2, 40, 60, 60)
    assert (found.events, found.cores) == (4, 0.5)
    assert found.cpu_us_per_event == pytest.approx(3250)


def test_the_windows_that_were_due_in_the_warm_up_do_not_count() -> None:
    assert visibility(Sighting(1090, Counter({200: 3})), counted=Span(1040, 1051)).windows == 1


@pytest.mark.parametrize(
    ("counts", "counted"),
    [
        (Counter({100: 2}), COUNTED),  # a window is missing
        (Counter({100: 2, 200: 4}), COUNTED),  # an event is counted twice
        (Counter({100: 2, 200: 3}), Span(2000, 3000)),  # nothing was due
    ],
)
def test_windows_without_exactly_the_events_of_the_topic_are_no_measurement(
    counts: Counter[int], counted: Span
) -> None:
    with pytest.raises(BenchmarkError, match="with the events of the topic"):
        visibility(Sighting(1090, counts), counted=counted)


def test_a_reader_sees_files_when_they_are_committed_or_finished(tmp_path: Path) -> None:
    log, result = tmp_path / "_delta_log", tmp_path / "result"
    table, folder = DeltaLog(tmp_path), FinishedFiles(result)
    assert (table.new_files(), folder.new_files()) == ([], [])
    log.mkdir()
    result.mkdir()
    (result / ".part-1.inprogress").touch()
    add = {"path": "b.parquet", "dataChange": True}
    for version, action in enumerate([{"metaData": {}}, {"add": add}, {"add": {**add, "dataChange": False}}]):
        (log / f"{version:020}.json").write_text(json.dumps(action))
    assert (table.new_files(), folder.new_files()) == ([tmp_path / "b.parquet"], [])
    (result / ".part-1.inprogress").rename(result / "part-1")
    assert (table.new_files(), folder.new_files()) == ([], [result / "part-1"])
    assert folder.new_files() == []


def test_the_events_of_a_file_are_summed_by_window(tmp_path: Path) -> None:
    ends = pa.array([1000, 2000, 1000], pa.timestamp("ms"))
    rows = pa.table({"window_end": ends, "page_views": [1, 2, 3], "clicks": [0, 0, 5], "user_id": ["a", "b", "c"]})
    pq.write_table(rows, tmp_path / "part-1")
    assert events_in(tmp_path / "part-1") == {1000: 9, 2000: 2}
