"""`tidemark config show`: what holds, and where it comes from."""

import os
import tomllib
from pathlib import Path

import pytest

from tests.support.parsed_settings import parsed_settings
from tidemark.pipeline.cli import main
from tidemark.pipeline.settings.setting_catalogue import catalogue

SESSIONS = """
warehouse = "/data/tidemark"
[kafka]
group_id = 'a "b" \\ c'
[window]
gap = "30m"
[reports.users]
keys = ["user_id"]
where = "page_url LIKE '/a%'"
[totals]
every = "5m"
[spark.conf]
"spark.executor.memory" = "4g"
"spark.hadoop.fs.s3a.secret.key" = "hush"
"""


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.upper().startswith("TIDEMARK_")]:
        monkeypatch.delenv(name)


def printed_settings(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(["config", "show", *words]) == 0
    return capsys.readouterr().out


def test_each_setting_is_shown_with_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "tidemark.toml"
    config.write_text('[kafka]\ntopic = "file"\nbootstrap_servers = "file:9092"\n[batch]\nmax_records = 7')
    monkeypatch.setenv("TIDEMARK_KAFKA__TOPIC", "environment")
    monkeypatch.setenv("TIDEMARK_SPARK__CONF", '{"spark.x": "1"}')
    lines = printed_settings(
        capsys, "--config", str(config), "--topic", "flag", "--spark.conf", "spark.y=2"
    ).splitlines()
    for line in (
        'topic = "flag"  # flag --kafka.topic',
        f'bootstrap_servers = "file:9092"  # file {config}',
        f"max_records = 7  # file {config}",
        'conf."spark.x" = "1"  # environment TIDEMARK_SPARK__CONF',
        'conf."spark.y" = "2"  # flag --spark.conf',
        '# bound = "10s"  # default',
        "# slide is not set",
    ):
        assert line in lines, line


def test_every_setting_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed_settings(capsys)
    for setting in catalogue():
        assert f"# {setting.path[-1]}" in text, setting.name


def test_what_is_shown_is_a_file_of_the_same_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, again = tmp_path / "tidemark.toml", tmp_path / "again.toml"
    config.write_text(SESSIONS.replace('"spark.hadoop.fs.s3a.secret.key" = "hush"', ""))
    again.write_text(
        printed_settings(capsys, "--config", str(config), "--time.max-ahead-of-clock", "off", "--time.bound", "3s")
    )
    expected = parsed_settings("--config", str(config), "--time.max-ahead-of-clock", "off", "--time.bound", "3s")
    assert parsed_settings("--config", str(again)) == expected
    assert expected.time.max_ahead_of_clock is None


def test_a_secret_is_shown_to_be_set_and_no_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "tidemark.toml"
    config.write_text(SESSIONS)
    text = printed_settings(capsys, "--config", str(config))
    assert "hush" not in text
    assert f'# conf."spark.hadoop.fs.s3a.secret.key" is set, and hidden  # file {config}' in text
    assert tomllib.loads(text)["spark"]["conf"] == {"spark.executor.memory": "4g"}


def test_how_to_get_in_is_shown_without_what_is_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "tidemark.toml"
    config.write_text(
        '[kafka.security]\nprotocol = "SASL_SSL"\n[kafka.sasl]\nmechanism = "PLAIN"\nusername = "ann"\n'
        'password = "hush"\n[kafka.java]\n"sasl.login.class" = "hush"\n'
    )
    text = printed_settings(capsys, "--config", str(config))
    assert "hush" not in text
    assert f"# password is set, and hidden  # file {config}" in text
    assert f'# java."sasl.login.class" is set, and hidden  # file {config}' in text
    assert tomllib.loads(text)["kafka"]["sasl"] == {"mechanism": "PLAIN", "username": "ann"}


def test_settings_that_are_not_right_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show", "--time.bound", "soon"]) == 2
    said = capsys.readouterr()
    assert "time.bound: 'soon' is not a duration" in said.err
    assert said.out == ""
