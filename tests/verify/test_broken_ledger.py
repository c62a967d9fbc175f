"""Violations in the ledger and in what was rejected are found, each by its sentence."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.verify.conftest import Copy, play
from tests.verify.plant import OF_DEAD_LETTERS, OF_LEDGER, E, Rows, add, alter, change, drop, ms, notes, sentences
from tests.verify.site import NOON, PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.event_time.policy import JudgedBy
from tidemark.pipeline.verifier.invariants import verify

pytestmark = pytest.mark.slow


def batch(number: int) -> dict[str, Any]:
    return {"batch": E + number}


LEDGER: dict[str, tuple[Callable[[Rows], Rows], str]] = {
    "a record has no verdict": (
        change(batch(1), records=5, to_offset=5),
        "ledger: batch 1000000001, partition 0 has 5 records and 4 verdicts",
    ),
    "an offset is unaccounted for": (
        change(batch(5), to_offset=12),
        "ledger: batch 1000000005, partition 0 has 3 offsets, but records, gaps and lost records make 2",
    ),
    "lost offsets count once": (
        change(batch(5), lost=1),
        "ledger: batch 1000000005, partition 0 has 2 offsets, but records, gaps and lost records make 3",
    ),
    "a number is missing": (
        change(batch(5), lost=None),
        "ledger: batch 1000000005, partition 0 has 2 offsets, but records, gaps and lost records make None",
    ),
    "a number is negative": (
        change(batch(5), gap=-1, lost=1),
        "ledger: batch 1000000005, partition 0 has a number below 0: -1",
    ),
    "more was partly late than counted": (
        change(batch(5), partly_late=2),
        "ledger: batch 1000000005, partition 0 counted 1 record, but calls 2 partly late",
    ),
    "a batch is in another's epoch": (
        change(batch(5), epoch=2),
        "ledger: batch 1000000005, partition 0 is in epoch 2, but its batch id implies 1",
    ),
    "a batch occurs twice": (
        add(batch(5)),
        "ledger: batch 1000000005, partition 0 occurs 2 times, but must occur once",
    ),
    "an epoch is not opened": (
        drop(**batch(0)),
        "ledger: epoch 1 begins with batch 1000000001, but 1000000000 opens it",
    ),
    "an opening has records": (
        change(batch(0), records=1, malformed=1, from_offset=-1),
        "ledger: batch 1000000000, partition 0 opens an epoch and has 1 record, but must have 0",
    ),
    "an opening is empty": (
        change(batch(0), opening=None),
        "ledger: batch 1000000000, partition 0 has an opening of 0 characters",
    ),
    "an opening is cut off": (
        change(batch(0), opening="{"),
        "ledger: the opening of batch 1000000000 cannot be read",
    ),
    "a batch within an epoch has an opening": (
        change(batch(5), opening="{}"),
        "ledger: batch 1000000005, partition 0 has an opening of 2 characters",
    ),
    "offsets overlap": (
        change(batch(5), from_offset=8, gap=1),
        "ledger: batch 1000000005, partition 0 of t begins at offset 8, but batch 1000000004 ended at 9",
    ),
    "offsets are missing": (
        change(batch(5), from_offset=10, gap=-1),
        "ledger: batch 1000000005, partition 0 of t begins at offset 10, but batch 1000000004 ended at 9",
    ),
    "a partition disappears": (
        add(batch(2), partition=1, from_offset=0, to_offset=2),
        "ledger: partition 1 of t is in batch 1000000002, but not in the next one, 1000000003",
    ),
    "partitions disagree on the watermark": (
        add(batch(5), partition=1, watermark=None),
        "ledger: the partitions of batch 1000000005 disagree on watermark: 2024-05-01T12:32:00Z and none",
    ),
    "partitions disagree on the watermark before": (
        add(batch(5), partition=1, watermark_before=ms(31)),
        (
            "ledger: the partitions of batch 1000000005 disagree on watermark_before: 2024-05-01T12:31:00Z and "
            "2024-05-01T12:31:30Z"
        ),
    ),
    "a batch begins at another watermark": (
        change(batch(5), watermark_before=ms(31)),
        (
            "ledger: batch 1000000005 begins at the watermark 2024-05-01T12:31:00Z, but batch 1000000004 ended at "
            "2024-05-01T12:31:30Z"
        ),
    ),
    "the watermark goes back": (
        change(batch(5), watermark=ms(30)),
        "ledger: in batch 1000000005 the watermark goes back, from 2024-05-01T12:31:30Z to 2024-05-01T12:30:00Z",
    ),
    "the watermark goes away": (
        change(batch(5), watermark=None),
        "ledger: in batch 1000000005 the watermark goes back, from 2024-05-01T12:31:30Z to none",
    ),
}
DEAD_LETTERS: dict[str, tuple[Callable[[Rows], Rows], str]] = {
    "a dead letter has another reason": (
        change({}, reason="future"),
        "dead_letters: batch 1000000005, partition 0 has 1 that are future, but the ledger 0",
    ),
    "a dead letter is missing": (
        drop(),
        "dead_letters: batch 1000000005, partition 0 has 0 that are too_late, but the ledger 1",
    ),
    "a dead letter occurs twice": (
        add({}),
        "dead_letters: offset 9 of partition 0 of t occurs 2 times, but must occur once",
    ),
    "an offset was never read": (
        change({}, offset=11),
        "dead_letters: offset 11 of partition 0 of t is of batch 1000000005, which read [9, 11)",
    ),
    "a partition was not read": (
        change({}, partition=3),
        "dead_letters: offset 9 of partition 3 of t is of batch 1000000005, which read nothing of that partition",
    ),
    "a dead letter was judged by another watermark": (
        change({}, watermark=NOON),
        (
            "dead_letters: offset 9 of partition 0 of t was judged by the watermark 2024-05-01T12:00:00Z, but batch "
            "1000000005 began at 2024-05-01T12:31:30Z"
        ),
    ),
}


@pytest.mark.parametrize("name", LEDGER)
def test_a_violation_in_the_ledger_is_reported(name: str, copy: Copy) -> None:
    how, sentence = LEDGER[name]
    warehouse = copy("page_views")
    alter(warehouse, "ledger", how)
    assert sentence in sentences(warehouse, OF_LEDGER)


@pytest.mark.parametrize("name", DEAD_LETTERS)
def test_a_violation_in_dead_letters_is_reported(name: str, copy: Copy) -> None:
    how, sentence = DEAD_LETTERS[name]
    warehouse = copy("page_views")
    alter(warehouse, "dead_letters", how)
    assert sentence in sentences(warehouse, OF_DEAD_LETTERS)


#   offset      0     1     2     3
#   event      70    10    11    72     minutes after noon; batches [0, 1) and [1, 4)
#   judged by   -    70    70    70     by arrival any watermark from 70 to 72, and none lower than that before it
def test_by_arrival_a_dead_letter_was_judged_by_a_watermark_of_its_batch_that_never_fell(tmp_path: Path) -> None:
    policy = replace(PAGE_VIEWS_ALONE, judged=JudgedBy.ARRIVAL)
    Site(tmp_path, policy).open().batch(Event(70)).batch(Event(10), Event(11), Event(72))
    for first, second, sentence in (
        (70, 71, ""),
        (71, 71, ""),
        (69, 71, "offset 1 of partition 0 of t was judged by the watermark 2024-05-01T13:09:00Z, but batch 1000000002"),
        (70, 73, "offset 2 of partition 0 of t was judged by the watermark 2024-05-01T13:13:00Z, but batch 1000000002"),
        (
            71,
            70,
            "by the watermark 2024-05-01T13:10:00Z, but offset 1, which arrived before it, by 2024-05-01T13:11",
        ),
    ):
        alter(tmp_path, "dead_letters", change({"offset": 1}, watermark=ms(first)))
        alter(tmp_path, "dead_letters", change({"offset": 2}, watermark=ms(second)))
        found = sentences(tmp_path, OF_DEAD_LETTERS)
        assert sentence in found if sentence else not found


def test_many_violations_are_counted_and_a_few_reported(copy: Copy) -> None:
    warehouse = copy("page_views")
    alter(warehouse, "ledger", change({}, gap=1))
    finding = verify(str(warehouse)).findings[0]
    assert (finding.name, finding.violation_count, len(finding.violations)) == ("ledger balances", 6, 2)


def test_an_epoch_may_reset_the_watermark_if_its_opening_records_it(tmp_path: Path) -> None:
    site = play(Site(tmp_path, PAGE_VIEWS_ALONE).open()).open()

    def reset(rows: Rows) -> Rows:
        opening = next(row for row in rows if row["batch"] == 2 * E)
        reset_opening = json.loads(opening["opening"]) | {"reset": {"watermark": ms(25), "reason": "by hand"}}
        return change({"batch": 2 * E}, opening=json.dumps(reset_opening), watermark=ms(25))(rows)

    alter(tmp_path, "ledger", reset)
    assert "epoch 2 reset the watermark to 2024-05-01T12:25:00Z" in notes(tmp_path)
    alter(tmp_path, "ledger", change({"batch": 2 * E}, watermark=ms(26)))
    assert "opens an epoch that resets the watermark to 2024-05-01T12:25:00Z, but has 2024-05-01T12:26:00Z" in (
        sentences(tmp_path, OF_LEDGER)
    )
    assert site.watermark == ms(32)


def test_a_capped_watermark_is_never_ahead_of_the_clock(tmp_path: Path) -> None:
    play(Site(tmp_path, PAGE_VIEWS_ALONE).open()).open()

    def cap(rows: Rows) -> Rows:
        for row in rows:
            if row["opening"]:
                opening = json.loads(row["opening"])
                opening["policy"]["caps_watermark"] = True
                row["opening"] = json.dumps(opening)
        return rows

    alter(tmp_path, "ledger", change({}, committed_at=ms(60)))
    alter(tmp_path, "ledger", cap)
    assert "ahead of its commit" not in sentences(tmp_path, OF_LEDGER)
    alter(tmp_path, "ledger", change({"batch": E + 1}, committed_at=ms(0)))
    assert "ahead of its commit at 2024-05-01T12:00:00Z" in sentences(tmp_path, OF_LEDGER)
