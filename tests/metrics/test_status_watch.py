"""`status --watch` as a person has it: in a terminal, with a store that is away for a moment, until Ctrl-C."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event

import pytest

from demo.children import free_port
from tests.support.terminal import BACK, CTRL_C, CURSOR_HIDDEN, CURSOR_SHOWN, OTHER_SCREEN, Terminal
from tests.support.waiting import PATIENCE_S, wait_for
from tests.verify.site import NOON, PAGE_VIEWS_ALONE, Site
from tests.verify.site import Event as Visit
from tidemark.command_line.terminal import Console
from tidemark.pipeline.cli import main
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.reading.health_client import ServiceHealth
from tidemark.pipeline.reading.status_view import Status
from tidemark.pipeline.reading.status_watch import LatestStatus

HEALTHY = ServiceHealth(is_healthy=True, sentence="It works.")


def sees(terminal: Terminal, words: str) -> None:
    """Fails unless the words come onto the screen."""
    try:
        wait_for(lambda: words in terminal.screen(), PATIENCE_S, words)
    except AssertionError as error:
        raise AssertionError(f"{error}; the screen is {terminal.screen()}") from None


@contextmanager
def in_the_log(name: str, warehouse: Path) -> Iterator[Path]:
    """A file of the ledger's log, which is gone again afterwards."""
    file = warehouse / "ledger" / "_delta_log" / name
    yield file
    file.unlink()


@pytest.mark.slow
def test_the_screen_goes_on_with_the_tables_through_a_store_that_is_away_until_ctrl_c(tmp_path: Path) -> None:
    site = Site(tmp_path, PAGE_VIEWS_ALONE).open().batch(Visit(1))
    watch = ("status", "--warehouse", str(tmp_path), "--watch", "--every", "200ms")
    with Terminal("tidemark.pipeline.cli", *watch) as terminal:
        sees(terminal, "1, committed 1970-01-01")
        assert "every 0.2 s, q quits" in terminal.screen()
        site.batch(Visit(2, "bob"), Visit(11))
        sees(terminal, "2, committed 1970-01-01")
        next_version = len(list((tmp_path / "ledger" / "_delta_log").glob("*.json")))
        with in_the_log(f"{next_version:020}.json", tmp_path) as torn:
            torn.write_text("torn")
            sees(terminal, "The tables cannot be read: ")
            assert "2, committed" in terminal.screen()
        wait_for(lambda: "cannot be read" not in terminal.screen(), PATIENCE_S, "the store's return")
        site.batch(Visit(21))
        sees(terminal, "3, committed 1970-01-01")
        with in_the_log("_last_checkpoint", tmp_path) as never_read:
            os.mkfifo(never_read)  # who reads it waits for a writer, as for a store that hangs
            sees(terminal, "The store has not answered for ")
            terminal.press(CTRL_C)
            assert terminal.wait() == 0
        wait_for(lambda: BACK in terminal.said, PATIENCE_S, "the first screen")
        assert terminal.said.startswith(OTHER_SCREEN)
        assert terminal.said.rindex(CURSOR_SHOWN) > terminal.said.rindex(CURSOR_HIDDEN)
        assert terminal.said.rstrip().endswith(BACK)
        assert terminal.modes() == terminal.modes_before


@pytest.mark.slow
def test_a_screen_of_80_by_24_has_the_windows_and_a_stopped_service_in_red_until_q(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_METRICS__PORT", str(free_port()))
    silent: dict[int, int | None] = dict.fromkeys(range(1, 12), NOON)
    site = Site(tmp_path, PAGE_VIEWS_ALONE, silent=silent).open()
    for minute in range(1, 71, 10):
        site.batch(Visit(minute), Visit(minute, "bob"))
    watch = ("status", "--warehouse", str(tmp_path), "--watch", "--every", "200ms")
    with Terminal("tidemark.pipeline.cli", *watch, rows=24, columns=80) as terminal:
        sees(terminal, "The service is stopped")
        screen = terminal.screen()
        for minute in range(0, 50, 10):
            assert f"[2024-05-01 12:{minute + 10}, " in screen
        assert "records: counted 14, too late 0" in screen
        assert "q quits" in screen
        assert "\x1b[1;31mNothing was committed for " in terminal.said
        terminal.press(b"q")
        assert terminal.wait() == 0
        wait_for(lambda: BACK in terminal.said, PATIENCE_S, "the first screen")
        assert terminal.modes() == terminal.modes_before


@pytest.mark.slow
def test_a_supervisor_ends_it_as_ctrl_c_does(tmp_path: Path) -> None:
    Site(tmp_path, PAGE_VIEWS_ALONE).open().batch(Visit(1))
    with Terminal("tidemark.pipeline.cli", "status", "--warehouse", str(tmp_path), "--watch") as terminal:
        sees(terminal, "1, committed 1970-01-01")
        terminal.popen.terminate()
        assert terminal.wait() == 0
        wait_for(lambda: BACK in terminal.said, PATIENCE_S, "the first screen")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--watch"], "--watch needs a terminal: standard output is not one"),
        (["--every", "2s"], "--every sets how often --watch reads the tables"),
        (["--watch", "--every", "0s"], "--every: "),
    ],
)
def test_invalid_options_of_watch_are_one_sentence(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--warehouse", "/nowhere", *options]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert (captured.err.count("\n"), captured.out) == (1, "")


@pytest.mark.slow
def test_a_missing_warehouse_is_reported_before_the_screen_changes(tmp_path: Path) -> None:
    with Terminal("tidemark.pipeline.cli", "status", "--warehouse", str(tmp_path), "--watch") as terminal:
        assert terminal.wait() == 2
        wait_for(lambda: "there is no Tidemark warehouse at" in terminal.said, PATIENCE_S, "the sentence")
        assert OTHER_SCREEN not in terminal.said


def test_a_defect_of_ours_ends_it_and_is_not_hidden() -> None:
    answers: Iterator[Status | Exception] = iter(
        [Status("/lake"), SetUpError("no answer"), OSError("the store is away"), ZeroDivisionError("a defect")]
    )

    def read() -> Status:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    latest, stop = LatestStatus(read, timedelta(milliseconds=1), lambda: HEALTHY), Event()
    latest.keep_reading(stop)
    assert stop.wait(PATIENCE_S)
    with pytest.raises(ZeroDivisionError):
        latest.raise_defect()
    console = Console(width=200)
    with console.capture() as said:
        console.print(latest.screen(0))
    assert "The tables cannot be read: the store is away. Retrying. The status below is from" in said.get()
