"""Events that are counted twice although they are deduplicated are found, each by its sentence."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.verify.conftest import play
from tests.verify.plant import E, Rows, add, alter, change, ms, notes, sentences
from tests.verify.site import MINUTE, NOON, PAGE_VIEWS_ALONE, Site
from tidemark.pipeline.amend.watermark_reset import reset
from tidemark.pipeline.event_time.event_ids import Ids
from tidemark.pipeline.fold.outputs import event_ids
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.schemas import EVENT_IDS

pytestmark = pytest.mark.slow
OF_EVENT_IDS = slice(7, 8)
NEWEST = {"batch": E + 5, "id_high": 51}


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Two events with ids in each of the last two batches; the last watermark is at 32 minutes."""
    play(Site(tmp_path, replace(PAGE_VIEWS_ALONE, deduplicate=True)).open())
    appender = Appender(EVENT_IDS, str(tmp_path))
    for batch, times in ((4, [22, 31.5]), (5, [32])):
        numbers = np.arange(len(times)) + batch * 10 + 1
        appender.append(event_ids(Ids(numbers, -numbers, np.array([ms(time) for time in times])), E + batch), E + batch)
    return tmp_path


VIOLATIONS: dict[str, tuple[str, Callable[[Rows], Rows], str]] = {
    "an event was counted in two batches": (
        "event_ids",
        add({"id_high": 42}, batch=E + 5),
        "event_ids: the event 42 -42 was counted 2 times, in batches 1000000004 to 1000000005",
    ),
    "a batch has more ids than it counted events": (
        "event_ids",
        add(NEWEST, id_high=52),
        "event_ids: batch 1000000005 has 2 ids, but the ledger counted only 1 event",
    ),
    "a record of an epoch without deduplication is a duplicate": (
        "ledger",
        lambda rows: change({"batch": E + 5}, duplicate=1, counted=0)(
            [row | {"opening": _without(row["opening"])} for row in rows]
        ),
        "ledger: batch 1000000005, partition 0 has 1 duplicate, but its epoch does not deduplicate",
    ),
}


def _without(opening: str | None) -> str | None:
    return opening and opening.replace('"deduplicate": true', '"deduplicate": false')


def test_a_sound_warehouse_has_ids_and_some_may_be_uncommitted_or_forgotten(warehouse: Path) -> None:
    alter(warehouse, "event_ids", add({"id_high": 42}, batch=E + 6))
    assert "event_ids: uncommitted: 1 row of batches that the ledger does not have" in notes(warehouse)
    # The window of the first had closed by then.
    alter(warehouse, "event_ids", change({"id_high": 42, "batch": E + 6}, batch=E + 5, id_high=41, id_low=-41))
    alter(warehouse, "event_ids", change({"id_high": 41, "batch": E + 4}, event_time=ms(22)))
    alter(warehouse, "event_ids", change({"id_high": 51}, batch=E + 1))
    assert notes(warehouse) == ""


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_violation_in_event_ids_is_reported(name: str, warehouse: Path) -> None:
    table, how, sentence = VIOLATIONS[name]
    assert sentences(warehouse, OF_EVENT_IDS) == ""
    alter(warehouse, table, how)
    assert sentence in sentences(warehouse, OF_EVENT_IDS)


def test_a_record_without_a_verdict_is_reported_whatever_is_a_duplicate(warehouse: Path) -> None:
    alter(warehouse, "ledger", change({"batch": E + 5}, duplicate=1))
    assert "ledger: batch 1000000005, partition 0 has 2 records and 3 verdicts" in sentences(warehouse, slice(0, 1))


def test_after_a_reset_events_of_windows_that_are_open_again_count_once(warehouse: Path, tmp_path: Path) -> None:
    century = NOON + 100 * 365 * 24 * 60 * MINUTE
    alter(warehouse, "ledger", change({"batch": E + 5}, watermark=century, max_event_time=century))
    alter(warehouse, "event_ids", change({"id_high": 51}, event_time=ms(55)))
    alter(warehouse, "event_ids", add({"id_high": 51}, batch=E + 4))
    assert "was counted 2 times" not in sentences(warehouse, OF_EVENT_IDS)
    reset(str(tmp_path), ms(50), "a wrong clock", confirmed=True)
    assert "event_ids: the event 51 -51 was counted 2 times" in sentences(warehouse, OF_EVENT_IDS)
