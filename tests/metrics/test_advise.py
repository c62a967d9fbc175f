"""`tidemark advise` on ledgers made by hand."""

import re
import shutil
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests.support.ledger_rows import NOON_MS, commit, ledger_row
from tidemark.command_line.terminal import Console
from tidemark.pipeline.cli import main
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.reading.advice.bounds_advice import outcomes_of, render
from tidemark.pipeline.settings.durations import write_milliseconds
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.handle import Handle, create_table
from tidemark.pipeline.tables.opening import Opening
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, LEDGER

MINUTE_MS = 60_000


def policy(**time: str) -> str:
    """Policy with windows of a minute, by default a bound of 10 s, and no allowed lateness."""
    settings = Settings(time={"bound": "10s", "allowed_lateness": "0s", **time})  # type: ignore[arg-type]
    return Opening(settings.policy(), {}).to_text()


def bury(warehouse: Path, *letters: tuple[int, str, int, int]) -> None:
    """Dead letters: batch, reason, event time and watermark relative to noon."""
    rows = [
        {"batch": batch, "reason": reason, "event_time": NOON_MS + time, "watermark": NOON_MS + watermark}
        for batch, reason, time, watermark in letters
    ]
    data = pa.Table.from_pylist(rows, schema=DEAD_LETTERS.schema)
    write_deltalake(Handle.of(DEAD_LETTERS, str(warehouse)).table, data, mode="append")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A batch each 10 s on two partitions, 100 records each; windows fire at +60 s, +120 s, ... on the watermark.

    In batch 3 (W = 30 s before it) three events had 4 s of slack. In batch 7 (W = 70 s) one event was too late by 10 s,
    and another life's uncommitted batch left one that does not count.
    """
    warehouse = tmp_path_factory.mktemp("made")
    opening = [replace(ledger_row(EPOCH, number, 0, NOON_MS), opening=policy()) for number in (0, 1)]
    batches = [
        replace(
            ledger_row(EPOCH + number, partition, 100, NOON_MS + 10_000 * number + 10_000),
            watermark_before=NOON_MS + 10_000 * (number - 1),
            watermark=NOON_MS + 10_000 * number,
        )
        for number in range(1, 31)
        for partition in (0, 1)
    ]
    batches[4] = replace(batches[4], slack=[{"slack_ms": 4_000, "records": 3}])
    batches[12] = replace(batches[12], counted=98, too_late=2)
    commit(warehouse, *opening)
    commit(warehouse, *batches)
    bury(
        warehouse,
        (EPOCH + 7, "too_late", 50_000, 70_000),
        (EPOCH + 7, "too_late", -50_000, 70_000),
        (EPOCH + 7, "malformed", 50_000, 70_000),
        (EPOCH + 31, "too_late", 50_000, 70_000),
    )
    return warehouse


@pytest.fixture
def warehouse(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "warehouse"))


def test_a_larger_bound_makes_fewer_dead_letters_and_a_smaller_bound_makes_more(made: Path) -> None:
    # One event was too late by 10 s, one by 70 s; three would be with a bound smaller by 4 s.
    bounds = {0: 5, 6_000: 5, 6_001: 2, 10_000: 2, 20_000: 2, 20_001: 1, 80_000: 1, 80_001: 0}
    outcomes, now_ms, _ = outcomes_of(str(made), list(bounds))
    assert now_ms == 10_000
    assert {one.bound_ms: one.too_late for one in outcomes} == bounds
    assert {one.events for one in outcomes} == {6_000}


def test_late_events_are_shown_where_a_long_window_still_takes_them(tmp_path: Path) -> None:
    """An event is late for its minute by 10 s and in time for its day; only the dead letters have it."""
    reports = {"minutes": {}, "days": {"window": {"size": "1d"}}}
    settings = Settings(time={"bound": "10s", "allowed_lateness": "0s"}, reports=reports)  # type: ignore[arg-type]
    opening = Opening(settings.policy(), {}).to_text()
    commit(tmp_path, replace(ledger_row(EPOCH, 0, 0, NOON_MS), opening=opening))
    row = ledger_row(EPOCH + 1, 0, 100, NOON_MS + 90_000)
    commit(tmp_path, replace(row, watermark_before=NOON_MS + 70_000, watermark=NOON_MS + 80_000, partly_late=1))
    bury(tmp_path, (EPOCH + 1, "partly_late", 50_000, 70_000))
    outcomes, *_ = outcomes_of(str(tmp_path), [0, 10_000, 20_000, 20_001])
    assert [(one.bound_ms, one.late, one.is_late_exact, one.too_late) for one in outcomes] == [
        (0, 1, False, 0), (10_000, 1, True, 0), (20_000, 1, True, 0), (20_001, 0, True, 0),
    ]  # fmt: skip
    console = Console(file=StringIO(), width=140)
    console.print(render(outcomes, 10_000, 0))
    assert isinstance(console.file, StringIO)
    assert re.search(r"│ 0s +│ +at least 1 │ +0 │", console.file.getvalue())


def test_results_come_later_by_whole_batches(made: Path) -> None:
    outcomes, *_ = outcomes_of(str(made), [0, 5_000, 15_000, 70_000])
    assert [one.later_ms for one in outcomes] == [
        (-10_000, -10_000),
        (0, 0),
        (0, 0),
        (10_000, 10_000),
        (60_000, 60_000),
    ]


def test_the_bound_of_now_is_always_shown_and_others_around_it_by_default(made: Path) -> None:
    assert [one.bound_ms for one in outcomes_of(str(made))[0]] == [
        0, 2_500, 5_000, 10_000, 20_000, 30_000, 60_000,
    ]  # fmt: skip
    assert [one.bound_ms for one in outcomes_of(str(made), [1_000])[0]] == [1_000, 10_000]


@pytest.mark.slow
def test_epochs_without_a_bound_are_left_out(warehouse: Path) -> None:
    lag = replace(ledger_row(2 * EPOCH, 0, 0, NOON_MS), opening=policy(strategy="time_lag"))
    commit(warehouse, lag, replace(ledger_row(2 * EPOCH + 1, 0, 500, NOON_MS + 400_000), watermark=NOON_MS + 390_000))
    commit(warehouse, replace(ledger_row(3 * EPOCH, 0, 0, NOON_MS), opening=policy(bound="20s")))
    (now,), now_ms, _ = outcomes_of(str(warehouse), [20_000])
    assert (now_ms, now.events, now.too_late) == (20_000, 6_000, 2)


def test_the_table_marks_the_bound_of_now(made: Path) -> None:
    console = Console(file=StringIO(), width=140)
    console.print(render(*outcomes_of(str(made), [0, 60_000])))
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    for line in (
        "Estimates for 6,000 events",
        r"│ 0s +│ +at least 5 │ +5 │ 0\.083% │ +-10\.0 s │ +-10\.0 s │",
        r"│ 10s \(now\) +│ +2 │ +2 │ 0\.033% │ +\+0\.0 s │ +\+0\.0 s │",
        r"│ 1m +│ +1 │ +1 │ 0\.017% │ +\+50\.0 s │ +\+50\.0 s │",
    ):
        assert re.search(line, text), (line, text)


def test_a_bound_without_any_result_yet_has_no_delay(made: Path) -> None:
    *_, day = outcomes_of(str(made), [86_400_000])[0]
    assert (day.bound_ms, day.later_ms) == (86_400_000, None)


def test_a_wrong_option_is_one_sentence(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", f"--warehouse={made}", "--bounds=soon"]) == 2
    error = capsys.readouterr().err
    assert "'soon' is not a duration" in error
    assert error.count("\n") == 1


def test_a_warehouse_without_data_for_advice_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said() -> str:
        assert main(["advise", f"--warehouse={tmp_path}"]) == 2
        return capsys.readouterr().err

    assert "there is no Tidemark warehouse at" in said()
    create_table(LEDGER, str(tmp_path))
    create_table(DEAD_LETTERS, str(tmp_path))
    assert "has no events yet: let a service run first" in said()
    commit(tmp_path, replace(ledger_row(EPOCH, 0, 0, NOON_MS), opening=policy()))
    assert "has no events yet: let a service run first" in said()
    commit(tmp_path, replace(ledger_row(2 * EPOCH, 0, 0, NOON_MS), opening=policy(strategy="time_lag")))
    assert "is time_lag: only time.strategy bounded has estimates" in said()


@pytest.mark.slow
def test_events_that_no_watermark_judged_are_named_and_not_estimated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A backlog is read at once: nothing of it can be late, whatever the bound."""
    create_table(DEAD_LETTERS, str(tmp_path))
    commit(tmp_path, replace(ledger_row(EPOCH, 0, 0, NOON_MS), opening=policy()))
    commit(tmp_path, replace(ledger_row(EPOCH + 1, 0, 89_843, NOON_MS), watermark_before=None))
    assert main(["advise", f"--warehouse={tmp_path}"]) == 2
    assert "there is no estimate for 89,843 events" in capsys.readouterr().err
    row = replace(ledger_row(EPOCH + 2, 0, 400, NOON_MS + 10_000), watermark_before=NOON_MS, counted=399, too_late=1)
    commit(tmp_path, row)
    bury(tmp_path, (EPOCH + 2, "too_late", -70_000, 0))
    assert main(["advise", f"--warehouse={tmp_path}", "--bounds=10s"]) == 0
    text = capsys.readouterr().out
    assert "Estimates for 400 events" in text
    assert "0.250%" in text
    assert "Left out: 89,843 events that were read before there was a watermark" in text


@pytest.mark.parametrize(("milliseconds", "text"), [(0, "0s"), (2_500, "2500ms"), (90_000, "90s"), (7_200_000, "2h")])
def test_a_bound_is_shown_as_settings_are_written(milliseconds: int, text: str) -> None:
    assert write_milliseconds(milliseconds) == text
