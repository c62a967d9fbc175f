"""Options that all verbs have."""

from pathlib import Path

import pytest

from tests.support.cases import case
from tidemark.pipeline.cli import main
from tidemark.pipeline.settings.warehouse import absolute

WITH_A_WAREHOUSE = ["advise", "live", "reset-watermark", "sql", "sql-server", "status", "verify"]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIDEMARK_WAREHOUSE", raising=False)
    monkeypatch.delenv("TIDEMARK_CONFIG", raising=False)


@pytest.mark.parametrize("verb", WITH_A_WAREHOUSE)
def test_a_command_without_a_warehouse_says_that_it_needs_one(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb]) == 2
    assert "Missing option '--warehouse' (env var: 'TIDEMARK_WAREHOUSE')" in capsys.readouterr().err


@pytest.mark.parametrize("way", ["flag", "environment", "file", "file by the environment"])
def test_the_warehouse_comes_from_where_settings_come_from(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere, config = str(tmp_path / "nowhere"), tmp_path / "tidemark.toml"
    config.write_text(f'warehouse = "{nowhere}"')
    options = {"flag": ["--warehouse", nowhere], "file": ["--config", str(config)]}.get(way, [])
    if way == "environment":
        monkeypatch.setenv("TIDEMARK_WAREHOUSE", nowhere)
    if way == "file by the environment":
        monkeypatch.setenv("TIDEMARK_CONFIG", str(config))
    for verb in WITH_A_WAREHOUSE:
        with case(verb):
            assert main([verb, *options]) == 2
            assert f"there is no Tidemark warehouse at {nowhere!r}" in capsys.readouterr().err
            assert not Path(nowhere).exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["reset-watermark", "--to", "noon"], "--to: 'noon' is not an instant: write milliseconds since 1970"),
        (["advise", "--bounds", "0s,5"], "--bounds: '5' is not a duration: write a number and ms, s, m, h or d"),
        (["correct", "--from", "noon"], "--from: 'noon' is not an instant"),
        (["correct", "--reason", "late"], "--reason: 'late' is not one of"),
        (["live", "--engine", "flink"], "--engine: 'flink' is not one of 'spark', 'duckdb', 'delta-rs'"),
        (["verify", "--warehose", "x"], "No such option '--warehose'. Did you mean '--warehouse'?"),
        (["verfy"], "No such command 'verfy'. Did you mean 'verify'?"),
        (["config", "shwo"], "No such command 'shwo'. Did you mean 'show'?"),
    ],
)
def test_a_mistyped_option_is_reported_in_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"tidemark: {sentence}")
    assert said.err.count("\n") == 1
    assert said.out == ""


@pytest.mark.parametrize("text", ["", " \t"])
@pytest.mark.parametrize(
    "words",
    [
        ["erase", "--yes", "--user"],
        ["erase", "--keep-later", "--user"],
        ["correct", "--user", "ann", "--user"],
        ["correct", "--page"],
        ["dead-letters", "replay", "--user"],
        ["dead-letters", "replay", "--page"],
        ["live", "--report"],
        ["status", "--report"],
    ],
)
def test_a_blank_user_page_or_report_is_refused(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a variable of a shell that is not set, and every dead letter has an empty text somewhere in its bytes."""
    assert main([*words, text, "--warehouse", "/nowhere"]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"tidemark: {words[-1]}: {text!r} is blank: write ")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["advise", "--warehous"],
        ["correct", "--dry"],
        ["live", "--rep"],
        ["reset-watermark", "--reas"],
        ["run", "--until"],
        ["status", "--rep"],
        ["verify", "--ware"],
    ],
)
def test_an_option_is_written_out(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """An abbreviation would mean something else once there is another option that begins like it."""
    assert main([*arguments, "x", "--warehouse", "/nowhere"]) == 2
    assert f"No such option '{arguments[1]}'" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["live", "sql-server", "status"])
def test_a_relative_path_is_that_of_the_command(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A view, or an engine that serves it, may have another directory."""
    monkeypatch.chdir(tmp_path)
    assert main([verb, "--warehouse", "tables/here"]) == 2
    assert f"there is no Tidemark warehouse at '{tmp_path}/tables/here'" in capsys.readouterr().err


@pytest.mark.parametrize("uri", ["s3://bucket/a", "file:///a", "dbfs:/a", "abfss://c@a/b"])
def test_a_uri_stays_as_it_is(uri: str) -> None:
    assert absolute(uri) == uri
