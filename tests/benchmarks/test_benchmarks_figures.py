"""The figures of a freshness run, from samples and ledger rows that were made by hand."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from benchmarks.freshness.figures import Compiled, compiled, slices
from benchmarks.freshness.publications import Span, publications
from benchmarks.freshness.records import Record, ages, commits, percentile
from benchmarks.freshness.sampler import steps_of
from benchmarks.freshness.samples import Compilations, Memory, Samples, Steps


def ledger(*rows: tuple[int, int, int, int, int]) -> pa.Table:
    """Rows of (batch, partition, from_offset, to_offset, committed_at)."""
    names = ["batch", "partition", "from_offset", "to_offset", "committed_at"]
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])


def test_a_record_is_as_old_as_the_commit_that_covers_its_offset_is_late() -> None:
    # The first row opens the epoch and covers nothing; the second batch brings partition 1 nothing.
    rows = ledger((0, 0, 0, 0, 5), (1, 0, 0, 2, 1000), (1, 1, 0, 1, 1000), (2, 0, 2, 3, 2500), (2, 1, 1, 1, 2500))
    records = [Record(0, 0, 900), Record(0, 1, 950), Record(0, 2, 1900), Record(1, 0, 700)]
    assert ages(records, commits(rows), began=500, slice_ms=1000) == {(0, 100): 1, (0, 50): 1, (1, 600): 1, (0, 300): 1}


def test_an_offset_that_was_never_committed_has_no_age() -> None:
    with pytest.raises(IndexError):
        ages([Record(0, 7, 900)], commits(ledger((1, 0, 0, 7, 1000))), began=0, slice_ms=1000)


def test_a_percentile_is_the_smallest_value_that_the_share_does_not_exceed() -> None:
    histogram = Counter({10: 50, 20: 49, 90: 1})
    assert [percentile(histogram, share) for share in (0.5, 0.51, 0.99, 1.0)] == [10, 20, 20, 90]


def test_compilations_in_publication_are_told_from_those_of_batches_and_of_the_warm_up() -> None:
    #    warm-up | batch   publishing 2000..2600   batch
    seen = [(0, 3), (500, 9), (1000, 9), (1500, 10), (1900, 10), (2100, 16), (2700, 17), (3500, 17), (3600, 19)]
    found = compiled(
        [Compilations(*sample) for sample in seen],
        publishing=[Span(2000, 2600)],
        commits=[800, 1600, 2000, 3400, 4400],
        warm=Span(1000, 4000),
    )
    expected = Compiled(1, in_publication=7, batches=3, outside_at={1500: 1, 3600: 2}, batches_with_one=2)
    assert (found, found.outside) == (expected, 3)


def test_a_slice_shows_ages_memory_and_the_steps_within_it() -> None:
    samples = Samples(
        memory=[Memory(100, 10, 100, 70), Memory(600, 20, 300, 50), Memory(1100, 99, 999, 99)],
        steps=[Steps(0, {"fold": (10, 5.0)}), Steps(900, {"fold": (14, 7.0)}), Steps(1000, {"fold": (15, 9.0)})],
    )
    samples = Samples.from_json(samples.to_json())
    found = slices(Counter({(0, 40): 2, (0, 60): 1, (2, 1): 1}), [Span(0, 1000), Span(1000, 2000)], 1, samples, [300])
    assert len(found) == 1, "nothing was produced in the second slice"
    assert (found[0].records, found[0].median_ms, found[0].max_ms, found[0].batches) == (3, 40, 60, 1)
    assert found[0].memory == Memory(0, 15, 200, 50)
    assert found[0].steps == {"fold": 0.5}
    assert not found[0].warm


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
    for number, actions in enumerate([first, fence, publication]):
        (log / f"{number:020}.json").write_text("\n".join(map(json.dumps, actions)))
    assert publications(str(tmp_path), ledger((7, 0, 0, 0, 40), (8, 0, 0, 9, 600))) == [Span(600, 900)]


def test_the_seconds_of_steps_are_read_from_a_metrics_page() -> None:
    name = "tidemark_batch_duration_seconds"
    page = f'# TYPE {name} histogram\n{name}_bucket{{step="fold",le="+Inf"}} 4\n'
    page += f'{name}_count{{step="fold"}} 4\n{name}_sum{{step="fold"}} 2.5\n# TYPE other counter\nother_total 1\n'
    assert steps_of(page) == {"fold": (4, 2.5)}
