"""Secrets in settings: where they may be set, and that no output contains them."""

import re
import sys
from itertools import product
from pathlib import Path

import click
import pytest
import structlog

import tidemark.producers.cli
from tests.support.parsed_settings import parsed_settings
from tidemark.pipeline.cli import main
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.logs import configure_logs
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.setting_catalogue import Setting, catalogue

MARK = "hunter2bqkz"


@pytest.mark.parametrize(
    ("flag", "value", "named"),
    [
        ("--kafka.sasl.password", MARK, "TIDEMARK_KAFKA__SASL__PASSWORD"),
        ("--kafka.sasl.client-secret", MARK, "TIDEMARK_KAFKA__SASL__CLIENT_SECRET"),
        ("--kafka.tls.key-password", MARK, "TIDEMARK_KAFKA__TLS__KEY_PASSWORD"),
        ("--kafka.java", f'{{"sasl.jaas.config": "{MARK}"}}', "TIDEMARK_KAFKA__JAVA"),
        ("--metrics.password", MARK, "TIDEMARK_METRICS__PASSWORD"),
    ],
)
def test_a_secret_is_no_flag(flag: str, value: str, named: str) -> None:
    with pytest.raises(SetUpError, match=f"see the arguments of a process: set {named} or") as refused:
        parsed_settings(f"{flag}={value}")
    assert MARK not in str(refused.value)


@pytest.mark.parametrize("flag", ["--kafka", "--kafka.sasl"])
def test_a_section_is_no_flag_and_its_value_is_not_repeated(flag: str) -> None:
    with pytest.raises(click.UsageError) as refused:
        parsed_settings(f'{flag}={{"password": "{MARK}"}}')
    assert MARK not in refused.value.format_message()


def test_a_secret_comes_from_the_environment_or_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "tidemark.toml"
    config.write_text('[kafka.security]\nprotocol = "SASL_SSL"\n[kafka.sasl]\nusername = "ann"\npassword = "weaker"')
    monkeypatch.setenv("TIDEMARK_KAFKA__SASL__PASSWORD", MARK)
    settings = parsed_settings("--kafka.sasl.mechanism=PLAIN", "--config", str(config))
    assert settings.kafka.sasl.password is not None
    assert settings.kafka.sasl.password.get_secret_value() == MARK
    assert MARK not in repr(settings)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TIDEMARK_KAFKA__SASL__PASSWORD", MARK),
        ("TIDEMARK_KAFKA__SASL", MARK),
        ("TIDEMARK_KAFKA__SASL", f'{{"password": ["{MARK}"]}}'),
        ("TIDEMARK_KAFKA__SASL", f'{{"passwort": "{MARK}"}}'),
        ("TIDEMARK_KAFKA", f'{{"sasl": {{"password": "{MARK}"}}'),
        ("TIDEMARK_KAFKA__JAVA", f'{{"ssl.key.password": ["{MARK}"]}}'),
        ("TIDEMARK_METRICS__PASSWORD", MARK),
    ],
)
def test_an_error_about_a_secret_does_not_contain_it(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, value)
    assert main(["run"]) == 2
    said = capfd.readouterr()
    assert said.err.count("\n") == 1
    assert MARK not in said.err + said.out


SECRETS = [f"http://ann:{MARK}@127.0.0.1:1", f"https://{MARK}@127.0.0.1:1", f"ann:{MARK}@127.0.0.1:1"]
OAUTH = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "OAUTHBEARER",
    "kafka.sasl.client_id": "ann",
    "kafka.sasl.client_secret_file": "/secret",
}
ADDRESSES = {
    "warehouse": "AWS_SECRET_ACCESS_KEY",
    "kafka.bootstrap_servers": "set kafka.sasl",
    "kafka.sasl.token_url": "set kafka.sasl.client_id and client_secret_file",
    "schemas.registry.url": "set username and password_file",
    "spark.master": "set spark.conf",
}
"""Settings whose text messages show, and where their credentials belong."""


FORMS = ("TEXT", "URL", "FOLDER", "FILE", "HOST:PORT,...", "FIELD", "NAME=VALUE")
FREE_TEXT = [
    setting for setting in catalogue() if setting.form in FORMS and setting.name not in ("window.zone", "site.zone")
]
"""Settings that can hold a secret; all others have a form that a secret has not."""


FORMS_OF_SECRETS = [*SECRETS, f"https://127.0.0.1:1/token?client_secret={MARK}"]


def is_sample(setting: Setting, secret: str) -> bool:
    """Tests whether a pair is fast: each form in each address, and one form in turn in each other setting."""
    return setting.name in ADDRESSES or (FREE_TEXT.index(setting) - FORMS_OF_SECRETS.index(secret)) % 4 == 0


@pytest.mark.parametrize(
    ("setting", "secret"),
    [
        pytest.param(*pair, id=f"{pair[0].name}-{pair[1]}", marks=() if is_sample(*pair) else pytest.mark.slow)
        for pair in product(FREE_TEXT, FORMS_OF_SECRETS)
    ],
)
def test_a_secret_in_any_setting_is_in_no_output(
    setting: Setting, secret: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As its value, or as the value of an entry."""
    oauth = OAUTH if setting.name == "kafka.sasl.token_url" else {}
    lines = [f"{name} = {value!r}" for name, value in oauth.items()]
    config = tmp_path / "tidemark.toml"
    config.write_text("\n".join([*lines, f"{setting.name}{'.a' if setting.is_map else ''} = {secret!r}"]))
    for verb in ["config", "show"], ["run", "--topic=clicks"], ["check"]:
        if setting.name in ADDRESSES or verb[0] == "config":
            exit_code = main([*verb, f"--config={config}"])
            said = "".join(capfd.readouterr())
            assert MARK not in said
            if setting.name in ADDRESSES:
                assert exit_code == 2
                assert ADDRESSES[setting.name] in said


def test_a_password_in_an_option_of_java_is_hidden(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "tidemark.toml"
    options = f"-Xmx1g -Djavax.net.ssl.trustStorePassword={MARK}"
    config.write_text(f"spark.conf.'spark.driver.extraJavaOptions' = '{options}'\nspark.conf.'spark.x' = '-Da=b'")
    assert main(["config", "show", f"--config={config}"]) == 0
    said = capfd.readouterr().out
    assert MARK not in said
    assert 'conf."spark.x" = "-Da=b"' in said


@pytest.mark.parametrize("uri", ["abfss://clicks@account.dfs.core.windows.net/a", "s3://bucket/a:b", "/data/a@b"])
def test_an_address_without_a_password_is_accepted_and_shown(uri: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show", f"--warehouse={uri}"]) == 0
    assert f'warehouse = "{uri}"' in capfd.readouterr().out


def test_a_verb_with_a_warehouse_only_refuses_a_password_in_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", f"--warehouse=s3://ann:{MARK}@bucket/clicks"]) == 2
    said = "".join(capfd.readouterr())
    assert "AWS_SECRET_ACCESS_KEY" in said
    assert MARK not in said


def test_producers_refuse_a_password_in_an_address(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in OAUTH.items():
        monkeypatch.setenv(f"PRODUCERS_{name.replace('.', '__').upper()}", value)
    for flag in (f"--kafka.sasl.token-url={SECRETS[0]}", f"--bootstrap-servers={SECRETS[2]}"):
        assert tidemark.producers.cli.main(["simulate", flag]) == 2
        said = "".join(capfd.readouterr())
        assert "credentials must not be part of an address: set kafka.sasl" in said
        assert MARK not in said


@pytest.mark.parametrize(
    "toml", [f'[kafka.sasl]\npassword = "{MARK}"', f'[kafka.sasl]\npassword = "{MARK}', f'[time]\nbound = "{MARK}"']
)
def test_an_error_about_another_setting_contains_no_secret(
    toml: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tidemark.toml").write_text(toml)
    monkeypatch.setenv("TIDEMARK_REPORTS", "{}")
    assert main(["run", "--config", str(tmp_path / "tidemark.toml")]) == 2
    said = capfd.readouterr().err
    assert (MARK in said) == ("bound" in toml), "what is no secret is shown"


def test_help_shows_no_secret(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TIDEMARK_KAFKA__SASL__PASSWORD", MARK)
    monkeypatch.setenv("PRODUCERS_KAFKA__SASL__PASSWORD", MARK)
    for program, verb in (
        (main, "run"),
        (tidemark.producers.cli.main, "simulate"),
        (tidemark.producers.cli.main, "collect"),
    ):
        assert program([verb, "--help"]) == 0
        said = capsys.readouterr().out
        assert "--kafka.sasl.username" in said
        assert MARK not in said


def test_a_traceback_in_the_log_has_no_values(capsys: pytest.CaptureFixture[str]) -> None:
    before = structlog.get_config()
    try:
        configure_logs()
        _fail_with(MARK)
    finally:
        structlog.configure(**before)
    said = "".join(capsys.readouterr())
    assert "ZeroDivisionError" in said
    assert re.search(r'File ".*test_secrets\.py", line \d+', said)
    assert MARK not in said


def _fail_with(password: str) -> None:
    try:
        _ = len(password) / 0
    except ZeroDivisionError:
        structlog.get_logger().warning("failed", exc_info=sys.exc_info())


def test_the_page_is_for_this_machine_alone_unless_configured() -> None:
    assert Settings().metrics.host == "127.0.0.1"


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"KAFKA__SECURITY__PROTOCOL": "SASL_SSL"}, "kafka: security.protocol SASL_SSL needs sasl.mechanism"),
        ({"KAFKA__SASL__MECHANISM": "PLAIN"}, "kafka.sasl: mechanism PLAIN needs username, password"),
        ({"KAFKA__SASL__PASWORD": MARK}, "kafka.sasl.pasword: "),
        ({"KAFKA__TLS__CA": "/nowhere", "KAFKA__SECURITY__PROTOCOL": "SSL"}, "kafka.tls.ca /nowhere cannot be read"),
        ({"KAFKA__LIBRDKAFKA": '{"no.such": "property"}'}, 'No such configuration property: "no.such"'),
    ],
)
def test_both_commands_say_the_same_of_a_mistake(
    variables: dict[str, str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"TIDEMARK_{name}", value)
        monkeypatch.setenv(f"PRODUCERS_{name}", value)
    where = ["--bootstrap-servers=127.0.0.1:1", "--topic=clicks"]
    own = ["--metrics.port=0", f"--warehouse={tmp_path}"]
    assert main(["run", "--until-caught-up", *where, *own]) == 2
    assert tidemark.producers.cli.main(["simulate", *where]) == 2
    printed = capfd.readouterr().err
    assert printed.count(words) == 2, printed
    assert printed.count("\n") == 2
    assert MARK not in printed
