"""The ledger refuses what does not go on from its end, makes nothing before its first commit, and reads little."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.ledger_rows import ledger_row
from tidemark.pipeline.errors import BrokenChain, Replaced
from tidemark.pipeline.event_time.batch import EPOCH, LedgerRow
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.opening import Opening, Reset

pytestmark = pytest.mark.slow

OPENING = Opening(Settings().policy(), {})


def opening_row(epoch: int, **changes: object) -> LedgerRow:
    return replace(ledger_row(epoch * EPOCH, 0, 0, 0), opening=OPENING.to_text(), **changes)  # type: ignore[arg-type]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """One partition, read up to offset 10, with the watermark at 5000."""
    ledger = Ledger(str(tmp_path))
    assert ledger.commit_next([opening_row(1)])
    ledger.commit([replace(ledger_row(EPOCH + 1, 0, 10, 0), watermark=5000)])
    return ledger


def next_row(**changes: object) -> LedgerRow:
    after = {"from_offset": 10, "to_offset": 10, "watermark_before": 5000, "watermark": 5000}
    return replace(ledger_row(EPOCH + 2, 0, 0, 0), **{**after, **changes})  # type: ignore[arg-type]


def test_a_ledger_that_is_only_looked_at_leaves_no_trace(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path / "nothing"))
    assert (ledger.latest(), ledger.openings(), ledger.watermarks(0)) == ([], {}, [])
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"from_offset": 9}, "begins at offset 9 of partition 0, but the ledger ends at 10"),
        ({"from_offset": 11, "to_offset": 11}, "begins at offset 11 of partition 0, but the ledger ends at 10"),
        ({"partition": 1}, "begins at offset None of partition 0"),
        ({"watermark": 4999}, "take the watermark from 5000 back to 4999"),
        ({"watermark": None}, "take the watermark from 5000 back to None"),
    ],
)
def test_rows_that_do_not_go_on_from_the_last_ones_are_refused(
    changes: dict[str, object], message: str, ledger: Ledger, tmp_path: Path
) -> None:
    with pytest.raises(BrokenChain, match=message):
        ledger.commit([next_row(**changes)])
    (last,) = Ledger(str(tmp_path)).latest()
    assert last.batch == EPOCH + 1
    ledger.commit([next_row()])


def test_a_watermark_goes_back_only_where_the_opening_says_so(ledger: Ledger) -> None:
    back = replace(next_row(watermark=1), batch=2 * EPOCH, epoch=2)
    with pytest.raises(BrokenChain):
        ledger.commit_next([replace(back, opening=OPENING.to_text())])
    assert ledger.commit_next([replace(back, opening=replace(OPENING, reset=Reset(1, "")).to_text())])


def test_an_older_epoch_is_refused_with_the_number_of_the_newer_epoch(ledger: Ledger, tmp_path: Path) -> None:
    newer = Ledger(str(tmp_path))
    assert [one.batch for one in newer.latest()] == [EPOCH + 1]
    assert newer.commit_next([replace(next_row(), batch=2 * EPOCH, epoch=2, opening=OPENING.to_text())])
    with pytest.raises(
        Replaced, match="another service has opened epoch 2 on this warehouse; this service was epoch 1"
    ):
        ledger.commit([next_row()])


def test_reading_the_openings_does_not_let_a_batch_land_after_one_that_was_not_read(
    ledger: Ledger, tmp_path: Path
) -> None:
    other = Ledger(str(tmp_path))
    other.latest()
    assert other.commit_next([next_row()])
    assert ledger.openings().keys() == {1}
    assert not ledger.commit_next([next_row()])


def test_watermarks_from_a_time_on_have_the_first_batch_that_reached_them(ledger: Ledger) -> None:
    for number, watermark in [(2, 5000), (3, 6000), (4, 6000), (5, 9000)]:
        ledger.commit([next_row(batch=EPOCH + number, watermark=watermark)])
    assert ledger.watermarks(5001) == [(6000, EPOCH + 3), (9000, EPOCH + 5)]
    assert ledger.watermarks(5000)[0] == (5000, EPOCH + 1)


def test_merging_its_files_does_not_hide_a_newer_epoch(ledger: Ledger, tmp_path: Path) -> None:
    assert ledger.latest()
    older = Ledger(str(tmp_path), many_files=2)
    older.latest()
    last = {"from_offset": 10, "to_offset": 10, "watermark_before": 5000, "watermark": 5000}
    assert ledger.commit_next([opening_row(2, **last)])
    with pytest.raises(Replaced, match="epoch 2"):
        older.tidy()
