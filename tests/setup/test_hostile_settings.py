"""Sources of settings that no person would write: each gets one short sentence and exit code 2, and no traceback."""

import os
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemark.pipeline.cli import main

DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.upper().startswith("TIDEMARK_")]:
        monkeypatch.delenv(name)


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The sentence of a command that refuses its settings."""
    assert main(["config", "show", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert len(said.err) < 3000
    return said.err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"batch.max_records = {'1' * 4301}", "tidemark.toml is not TOML: a number has too many digits"),
        (f"batch.max_records = 0x{'f' * 9999}", "batch.max_records: Input should be less than or equal to"),
        (f"x = {'[' * 1000}{']' * 1000}", "tidemark.toml is not TOML: it is nested too deeply"),
        (f"x = {'[' * 100_000}", "tidemark.toml is not TOML: it is nested too deeply"),
        (f"{'x' * 9999} = 1", "xxx (9999 characters): there is no such setting (in "),
        (f"[time]\nbound = '{'x' * 9999}'", "time.bound: 'xxx"),
        ("[window]\nzone = 'localtime'", "window: there is no time zone 'localtime'"),
        ("[window]\nzone = 'Factory'", "window: there is no time zone 'Factory'"),
        (f"[window]\nzone = '{'x' * 9999}'", "window: there is no time zone 'xxx"),
        (f"[reports.{'X' * 9999}]", "reports: a report cannot be named 'XXX"),
        (f"reports.a.measures = ['{'x' * 9999}']", "report a: there is no measure 'xxx"),
        (f"[kafka]\nstart = '{'x' * 9999}'", "kafka.start: 'xxx"),
        (f"[retention.{'x' * 9999}]", "retention.xxx"),
        ("".join(f"a{number} = 1\n" for number in range(1000)), "; and 980 more"),
        ("reports = 1", "reports: expected a table in TOML (found 1 in "),
        ("kafka = 1", "kafka: expected a table in TOML with settings such as security, sasl, tls (in "),
    ],
)
def test_a_hostile_file_is_refused_in_a_short_sentence(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tidemark.toml").write_text(text)
    assert sentence in refusal(capsys, "--config", str(tmp_path / "tidemark.toml"))


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("TIDEMARK_REPORTS", DEEP, "TIDEMARK_REPORTS is not JSON: it is nested too deeply"),
        ("TIDEMARK_SPARK__CONF", "[" * 100_000, "TIDEMARK_SPARK__CONF is not JSON: it is nested too deeply"),
        (
            "TIDEMARK_BATCH",
            f'{{"max_records": {"1" * 4301}}}',
            "TIDEMARK_BATCH is not JSON: a number has too many digits",
        ),
        ("TIDEMARK_BATCH__MAX_RECORDS", "1" * 4301, "batch.max_records: "),
        ("TIDEMARK_REPORTS", "x=user_id", "TIDEMARK_REPORTS is not JSON: Expecting value: line 1"),
        ("TIDEMARK_REPORTS", "null", "TIDEMARK_REPORTS sets nothing, because it is null"),
        ("TIDEMARK_KAFKA", "null", "TIDEMARK_KAFKA sets nothing, because it is null"),
        ("TIDEMARK_TOTALS", "null", "TIDEMARK_TOTALS sets nothing, because it is null"),
        ("TIDEMARK_SPARK__CONF", "null", "spark.conf: expected an object in JSON"),
        ("TIDEMARK_TIME", '{"bound": 5}', "time.bound: 5 is not a duration: write a number and a unit as text"),
        ("TIDEMARK_WAREHOUSE", "\udcff", "TIDEMARK_WAREHOUSE is not text in UTF-8"),
        ("TIDEMARK_SPARK__CONF", '{"a": "\\ud800"}', "TIDEMARK_SPARK__CONF is not text in UTF-8"),
        (f"TIDEMARK_{'X' * 9999}", "1", "XXX (10008 characters) names no setting: after TIDEMARK_ comes one of"),
        (f"TIDEMARK_KAFKA__{'X' * 9999}", "1", "xxx (10005 characters): there is no such setting"),
    ],
)
def test_a_hostile_variable_is_refused_in_a_short_sentence(
    name: str, value: str, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    assert sentence in refusal(capsys)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--reports", DEEP], '--reports: \'{"a":{'),
        (["--reports", f"a={DEEP}"], "is not JSON: it is nested too deeply"),
        (
            ["--reports", "x=user_id"],
            "reports.x: expected an object in JSON with settings such as keys, where, measures ",
        ),
        (["--reports", "null"], "--reports: 'null' is not NAME=JSON, nor an object in JSON"),
        (["--reports", "x" * 9999], "--reports: 'xxx"),
        (["--batch.max-records", "1" * 4301], "batch.max_records: "),
        (["--time.bound", "1" * 4301 + "s"], "time.bound: '111"),
        (["--time.bound", "101y"], "time.bound: '101y' is not a duration"),
        (["--time.bound", "36501d"], "time.bound: '36501d' is too long for a duration: write no more than 36500d"),
        (["--kafka.start", "timestamp:" + "1" * 4301], "kafka.start: '111"),
        (["--" + "x" * 9999], "No such option '--xxx"),
    ],
)
def test_a_hostile_flag_is_refused_in_a_short_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in refusal(capsys, *words)


def test_variables_that_differ_only_by_case_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEMARK_KAFKA__TOPIC", "a")
    monkeypatch.setenv("tidemark_kafka__topic", "b")
    assert "TIDEMARK_KAFKA__TOPIC and tidemark_kafka__topic are the same setting" in refusal(capsys)


def test_a_variable_that_another_one_hides_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEMARK_KAFKA__TOPIC", "a")
    monkeypatch.setenv("TIDEMARK_KAFKA__TOPIC__NAME", "b")
    assert "TIDEMARK_KAFKA__TOPIC__NAME sets nothing" in refusal(capsys)


def test_a_broken_value_in_the_environment_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may be a secret."""
    monkeypatch.setenv("TIDEMARK_KAFKA", '{"sasl": {"password": "hush"')
    assert "hush" not in refusal(capsys)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["dashboard", "--port", "1"], "Did you mean '--dashboard.port' or '--metrics.port'?"),
        (["run", "--port", "1"], "Did you mean '--metrics.port' or '--dashboard.port'?"),
        (["run", "--bound", "1s"], "Did you mean '--time.bound'?"),
    ],
)
def test_the_end_of_an_options_name_is_enough_for_a_suggestion(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["100% #1", "%20", "a\\b", "[x]", "{a,b}", "a*", "what?", "a\nb", "a\x1bb", "a\u202eb"]
)
def test_a_folder_that_an_engine_would_misread_is_refused_at_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / name)
    verbs = (["config", "show"], ["run", "--topic=clicks"], ["check"], ["verify"], ["status"], ["sql"])
    # Each verb, and each form of an address with both readers of it: the settings, and the option of a verb.
    for warehouse, verb in (
        *((str(tmp_path / name), verb) for verb in verbs),
        *product(("clicks", f"file://{tmp_path}/{name}"), (["run", "--topic=clicks"], ["verify"])),
    ):
        assert main([*verb, f"--warehouse={warehouse}"]) == 2
        said = capsys.readouterr().err
        assert "has one of the characters % * ? [ ] { } \\ or one that cannot be printed" in said
        assert said.count("\n") == 1 or "Usage" in said
    assert not [*(tmp_path / name).iterdir()]


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20))
def test_verbs_with_all_settings_refuse_the_same_folders_as_the_others(folder: str) -> None:
    refused = []
    for verb in (["config", "show"], ["live"]):
        with redirect_stdout(StringIO()), redirect_stderr(errors := StringIO()):
            main([*verb, f"--warehouse=/nowhere/{folder}"])
        refused.append("has one of the characters" in errors.getvalue())
    assert refused[0] == refused[1]
