"""A reset lowers the watermark, but not below published windows, and forgets the times that would raise it again."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.verify.conftest import play
from tests.verify.site import MINUTE, NOON, PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.amend import watermark_reset
from tidemark.pipeline.amend.watermark_reset import reset
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.event_ids import Ids
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.fold.outputs import event_ids
from tidemark.pipeline.results.corrections import Corrections
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.event_id_table import maintain
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.schemas import EVENT_IDS

pytestmark = pytest.mark.slow
CENTURY: float = 60 * 24 * 365 * 100
"""Minutes, after which it is later than the clock of every test."""


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """A warehouse whose windows are published up to 30 minutes after noon, before an event of a wrong clock came."""
    play(Site(tmp_path, PAGE_VIEWS_ALONE).open()).batch(Event(CENTURY))
    return str(tmp_path)


@pytest.mark.parametrize("minute", [20, 39])
def test_published_windows_do_not_open_again(warehouse: str, minute: int) -> None:
    with pytest.raises(SetUpError, match=r"windows up to 2024-05-01T12:40:00\+00:00 are published already"):
        reset(warehouse, NOON + minute * MINUTE, "a wrong clock", confirmed=True)


def test_the_time_of_the_wrong_clock_is_forgotten(warehouse: str) -> None:
    assert Ledger(warehouse).latest()[0].max_event_time == NOON + CENTURY * MINUTE
    reset(warehouse, NOON + 50 * MINUTE, "a wrong clock", confirmed=True)
    row = Ledger(warehouse).latest()[0]
    assert (row.watermark, row.max_event_time) == (NOON + 50 * MINUTE, None)


def test_a_time_that_does_not_raise_the_watermark_again_is_kept(tmp_path: Path) -> None:
    site = play(Site(tmp_path, PAGE_VIEWS_ALONE, silent={1: NOON + 20 * MINUTE}).open()).batch(Event(CENTURY))
    reset(str(tmp_path), NOON + 50 * MINUTE, "a wrong clock", confirmed=True)
    times = {row.partition: row.max_event_time for row in site.ledger.latest()}
    assert times == {0: None, 1: NOON + 20 * MINUTE}


def test_a_reset_is_refused_if_a_batch_was_committed_after_it_read_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = play(Site(tmp_path, PAGE_VIEWS_ALONE).open()).batch(Event(CENTURY))
    batch_of = watermark_reset._batch

    def next_to_a_service(*read: Any) -> Any:
        site.batch(Event(CENTURY + 1))
        return batch_of(*read)

    monkeypatch.setattr(watermark_reset, "_batch", next_to_a_service)
    with pytest.raises(SetUpError, match="a service is running and has committed meanwhile"):
        reset(str(tmp_path), NOON + 50 * MINUTE, "a wrong clock", confirmed=True)
    assert Ledger(str(tmp_path)).latest()[0].batch == site.number


@pytest.mark.parametrize("is_cut_off", [False, True])
@pytest.mark.parametrize(("minute", "is_refused"), [(26, True), (29.5, False)])
def test_a_session_that_a_correction_joined_does_not_open_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minute: float, *, is_refused: bool, is_cut_off: bool
) -> None:
    """No clock has reached its end, but it can no longer be made of its panes alone.

    A run that was cut off has decided it, and the next run adds it.
    """
    sessions = Report("sessions", Sessions(5 * MINUTE), 0)
    site = Site(tmp_path, replace(PAGE_VIEWS_ALONE, reports=(sessions,))).open()
    site.batch(Event(24.5), Event(24, "bob"), Event(40, "bob")).batch(Event(CENTURY)).batch(Event(21))
    with monkeypatch.context() as patch:
        if is_cut_off:
            patch.setattr(Corrections, "apply", lambda *_: None)
        site.correct()
    monkeypatch.setattr(watermark_reset, "now_ms", lambda: NOON + 26 * MINUTE)
    sentence = r"windows up to 2024-05-01T12:29:30\+00:00 are published already"
    with pytest.raises(SetUpError, match=sentence) if is_refused else nullcontext():
        reset(str(tmp_path), NOON + round(minute * MINUTE), "a wrong clock", confirmed=True)


def test_a_window_of_several_keys_with_a_correction_does_not_open_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = replace(PAGE_VIEWS_ALONE.reports[0], keys=("user_id", "page_url"))
    site = Site(tmp_path, replace(PAGE_VIEWS_ALONE, reports=(pages,))).open()
    site.batch(Event(24.5), Event(40, "bob")).batch(Event(CENTURY)).batch(Event(21)).correct()
    monkeypatch.setattr(watermark_reset, "now_ms", lambda: NOON + 26 * MINUTE)
    with pytest.raises(SetUpError, match=r"windows up to 2024-05-01T12:30:00\+00:00 are published already"):
        reset(str(tmp_path), NOON + 29 * MINUTE, "a wrong clock", confirmed=True)


def test_events_whose_ids_another_clock_has_forgotten_do_not_count_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service on a host that is ahead has forgotten ids of a window that no clock of this host has ended."""
    site = Site(tmp_path, replace(PAGE_VIEWS_ALONE, deduplicate=True)).open().batch(Event(CENTURY))
    ids = Ids(np.array([1, 2]), np.array([1, 2]), np.array([NOON + 21 * MINUTE, NOON + 44 * MINUTE]))
    Appender(EVENT_IDS, str(tmp_path)).append(event_ids(ids, site.number), site.number)
    maintain(str(tmp_path), NOON + 31 * MINUTE, site.number)
    maintain(str(tmp_path), NOON + 30 * MINUTE, site.number)
    monkeypatch.setattr(watermark_reset, "now_ms", lambda: NOON + 26 * MINUTE)
    with pytest.raises(SetUpError, match=r"windows up to 2024-05-01T12:45:00\+00:00 are published already"):
        reset(str(tmp_path), NOON + 30 * MINUTE, "a wrong clock", confirmed=True)
    reset(str(tmp_path), NOON + 45 * MINUTE, "a wrong clock", confirmed=True)
