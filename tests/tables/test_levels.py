"""Which runs of panes are merged: few rows are rewritten, and files stay few."""

from dataclasses import replace

import pytest

from tidemark.pipeline.results import levels
from tidemark.pipeline.results.levels import Run, worth_merging, worth_rewriting
from tidemark.pipeline.tuning import STANDARD

MANY = STANDARD.merged_runs


def played(batches: int, rows: int) -> tuple[list[Run], int]:
    """Returns the runs after `batches` batches of `rows` rows, each with a merge, and the count of rewritten rows."""
    runs, rewritten = list[Run](), 0
    for batch in range(batches):
        runs.append(Run(batch, batch, rows, batch))
        while some := worth_merging(runs, MANY):
            merged = Run(some[0].first, some[-1].last, sum(run.rows for run in some), batch)
            runs[len(runs) - len(some) :] = [merged]
            rewritten += merged.rows
    return runs, rewritten


@pytest.mark.parametrize("rows", [1, 1_000, 50_000, 250_000])
def test_files_stay_few_and_no_row_is_written_again_and_again(rows: int) -> None:
    batches = 1_500
    runs, rewritten = played(batches, rows)
    assert sum(run.rows for run in runs) == batches * rows
    untouched = batches * rows // levels._MOST_ROWS
    assert len(runs) <= MANY + 5 * levels._FANOUT + untouched
    most = max(6 * batches * rows, batches // MANY * levels._BASE_ROWS + 6 * batches * rows)
    assert rewritten <= most


def test_no_merge_is_larger_than_what_is_stated() -> None:
    runs = [Run(number, number, 10_000_000, 0) for number in range(8)]
    assert not worth_merging(runs, MANY)


def test_runs_that_follow_one_another_are_merged_and_older_larger_ones_are_left() -> None:
    old = Run(0, 99, 5_000_000, 0)
    new = [Run(100 + number, 100 + number, 10, 0) for number in range(MANY)]
    assert worth_merging([old, *new], MANY) == new
    assert not worth_merging([old, *new[1:]], MANY)


def test_all_of_a_report_is_looked_at_only_when_as_much_came_as_there_was() -> None:
    old = Run(0, 99, 5_000_000, 0)
    new = [Run(100 + number, 100 + number, 10_000, 0) for number in range(MANY)]
    assert not worth_rewriting([old, *new], MANY)
    assert worth_rewriting([old, *(replace(run, rows=100_000) for run in new)], MANY)
