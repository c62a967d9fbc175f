"""The command line's errors: exit code 2, one sentence, no traceback."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tidemark.producers.cli import main
from tidemark.producers.tally import Tally
from tidemark.producers.truth import Truth

NOWHERE = ["--bootstrap-servers", "127.0.0.1:1", "--timeout", "100ms"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("simulat", "No such command 'simulat'. Did you mean 'simulate'?"),
        ("simulate --late-shar 0.1", "'--late-after', '--late-share'?); see `producers simulate --help`"),
        ("simulate --compression zip", "--compression: 'zip' is not one of 'none', 'lz4'"),
        ("simulate --format xml", "--format: 'xml' is not one of 'avro', 'json'"),
        ("simulate --rate fast", "'fast' is not a number"),
        ("simulate --rate -1", "'-1' is not a rate"),
        ("simulate --events 0", "'0' is not a whole number above 0"),
        ("simulate --jitter 5", "'5' is not a duration: write a number and ms"),
        ("simulate --duration 0s", "'0s' is zero; write a duration above 0"),
        ("simulate --late-share 2", "'2' is not a share"),
        ("simulate --start-time noon", "'noon' is not an instant"),
        ("simulate --malformed-kinds typo", "'typo' is not a kind of malformed value"),
        ("simulate --late-share 0.6 --future-share 0.6", "add up to 1.2"),
        ("simulate --late-share 0.1 --late-by 1s --jitter 5s", "raise late-by above jitter"),
        ("simulate --event-rate 10", "--event-rate needs --events or --start-time"),
        ("simulate --rate 0 --start-time 1700000000000", "set --event-rate above 0"),
        ("simulate --event-rate 0 --events 5", "set --event-rate above 0"),
        ("simulate --name=", "--name: '' is blank: write NAME"),
        ("simulate --topic=", "--topic: '' is blank: write NAME"),
        ("simulate --truth /nowhere/at/all.json", "cannot write the truth to /nowhere/at/all.json"),
    ],
)
def test_a_wrong_option_is_a_set_up_error(capsys: pytest.CaptureFixture[str], options: str, words: str) -> None:
    assert main(options.split()) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.startswith("producers: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_broker_that_does_not_answer_is_a_set_up_error_within_the_timeout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *NOWHERE]) == 2
    error = capsys.readouterr().err
    assert "no Kafka broker answered at 127.0.0.1:1 within 0.1 s" in error
    assert error.count("\n") == 1


def test_a_set_up_error_leaves_an_earlier_runs_truth_alone(tmp_path: Path) -> None:
    truth = tmp_path / "truth.json"
    Tally(["user-000000"], 60_000).truth("clicks").write(truth)
    assert main(["simulate", *NOWHERE, "--truth", str(truth)]) == 2
    assert Truth.load(truth).topic == "clicks"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.write_text("{}")])
def test_the_truth_overwrites_only_an_earlier_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], object]
) -> None:
    make(tmp_path / "precious")
    assert main(["simulate", *NOWHERE, "--truth", str(tmp_path / "precious")]) == 2
    assert "is not a truth file; choose another file" in capsys.readouterr().err
    assert (tmp_path / "precious").exists()


def test_help_names_every_option_with_its_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--help"]) == 0
    assert "--late-after DURATION" in capsys.readouterr().out
