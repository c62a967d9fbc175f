"""The command line's errors: exit code 2, one sentence, no traceback."""

from pathlib import Path

import pytest

from tidemark.producers.cli import main

NOWHERE = ["--bootstrap-servers", "127.0.0.1:1", "--timeout", "100ms"]


@pytest.fixture
def needed(tmp_path: Path) -> list[str]:
    """A log, a salt and a name, which every run has."""
    (tmp_path / "access.log").touch()
    (tmp_path / "salt").write_text("s" * 32)
    return ["access-log", str(tmp_path / "access.log"), "--salt-file", str(tmp_path / "salt"), "--name", "web-1"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--name web/1", "'web/1' is not a name; use letters, digits"),
        (
            "--format w3c",
            "--format: 'w3c' is no format; use combined, vhost_combined, common, json, caddy, tr",
        ),
        ("--format $remote_addr[$time_local]", "]' has no status ($status, %>s) and no request ($request, %r); see"),
        ("--format %h", "the log format '%h' has no time ($time_local, %t) and no status"),
        ("--format $remote_addr|$msec$status|$request", "has nothing between $msec and $status; their ends cannot"),
        ('--format {"ip":"$remote_addr"}', "writes JSON; use the format json, and name its fields by --json-fields"),
        ("--json-fields when=ts", "'when' has no field; write it like time=ts, with one of address, time"),
        ("--json-fields time", "'time' has no field"),
        ("--site shop.example", "'shop.example' is not the address of a site; write it like https://shop.example"),
        ("--since yesterday", "'yesterday' is not an instant"),
        ("--session-gap 0s", "'0s' is zero; write a duration above 0"),
        ("--settle 5", "'5' is not a duration"),
        ("--metrics-port 0", "--metrics-port: 0 is not in the range"),
        ("--salt-file /nowhere", "the salt cannot be read from /nowhere: No such file or directory; create a salt"),
        ("", "no Kafka broker answered at 127.0.0.1:1 within 0.1 s"),
    ],
)
def test_a_wrong_option_is_a_set_up_error(
    needed: list[str], capsys: pytest.CaptureFixture[str], options: str, words: str
) -> None:
    assert main([*needed, *NOWHERE, *options.split()]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.startswith("producers: ")
    assert said.err.count("\n") == 1
    assert said.out == ""


@pytest.mark.parametrize("missing", ["--salt-file", "--name"])
def test_salt_and_name_are_needed(needed: list[str], capsys: pytest.CaptureFixture[str], missing: str) -> None:
    at = needed.index(missing)
    assert main([*needed[:at], *needed[at + 2 :]]) == 2
    assert f"Missing option '{missing}'" in capsys.readouterr().err


def test_a_log_that_is_not_there_is_a_set_up_error(needed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    log = Path(needed[1])
    log.unlink()
    assert main([*needed, *NOWHERE]) == 2
    assert f"there is no file {log}; correct its path, or start the web server first" in capsys.readouterr().err


@pytest.mark.slow
def test_files_that_look_like_history_but_are_not_read_are_listed(
    needed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    log = Path(needed[1])
    for name in ("access.log.1", "access.log.2.zst", "access-2024-04-30T23-59-59.000.log", "access-443.log"):
        log.with_name(name).touch()
    assert main([*needed, *NOWHERE]) == 2
    assert "not read, because" not in capsys.readouterr().err
    for count in range(1, 8):
        log.with_name(f"access.log.{count}.zip").touch()
    assert main([*needed, *NOWHERE]) == 2
    names = ", ".join(f"access.log.{count}.zip" for count in range(1, 6))
    assert (
        f"because the date, count or compression in their names is unknown: {names}, ...\n" in capsys.readouterr().err
    )
