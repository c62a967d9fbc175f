"""Every command and variable in the deploy files is one that the real command line takes."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import click
import pytest

from tests.deploy.files import DEPLOYING, SERVICE, SUBMIT, commands_of, section_of, services, values_of
from tests.support.parsed_settings import parsed_settings
from tidemark.producers.cli import producers

INSIDE = "kafka:19092"
TOPIC = "user-events"


@pytest.fixture(autouse=True)
def no_test_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the tests' own is taken for a setting, which would be refused."""
    for name in os.environ:
        if name.startswith("TIDEMARK_TEST_"):
            monkeypatch.delenv(name)


def test_the_service_of_compose_has_settings_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in services()["tidemark"]["environment"].items():
        monkeypatch.setenv(name, value)
    hold, verb, *arguments = services()["tidemark"]["command"]
    settings = parsed_settings(*arguments)
    assert (hold, verb) == ("hold", "run")
    assert "--until-caught-up" not in arguments
    assert (settings.kafka.bootstrap_servers, settings.kafka.topic) == (INSIDE, TOPIC)
    assert settings.warehouse.startswith("/var/lib/tidemark/")


def loaded(verb: str) -> click.Command:
    with click.Context(producers) as context:
        command = producers.resolve_command(context, [verb])[1]
    assert command
    return command


@pytest.mark.parametrize("service", ["producer", "collect"])
def test_producers_of_compose_get_options_that_exist(service: str) -> None:
    hold, program, verb, *arguments = services()[service]["command"]
    assert (hold, program) == ("hold", "producers")
    options = loaded(verb).make_context(verb, arguments).params
    assert (options["bootstrap_servers"], options["topic"]) == (INSIDE, TOPIC)


def test_topic_and_brokers_are_the_same_for_all() -> None:
    assert f"--topic={TOPIC}" in services()["topic"]["command"]
    assert f"--bootstrap-server={INSIDE}" in services()["topic"]["command"]
    listeners = services()["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert f"INSIDE://{INSIDE}" in listeners.split(",")


def test_the_image_has_settings_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = dict(pair.split("=", 1) for rest in values_of("ENV") for pair in rest.split())
    for name, value in variables.items():
        if name.startswith("TIDEMARK_"):
            monkeypatch.setenv(name, value)
    settings = parsed_settings("--bootstrap-servers", "b:9092", "--topic", "t")
    assert settings.metrics.host == variables["TIDEMARK_METRICS__HOST"]


def documented_runs() -> Iterable[list[str]]:
    """Yields the arguments after `-- run` in the commands for a Spark cluster."""
    for words in commands_of(section_of(DEPLOYING, "On a Spark cluster")):
        if "--" in words:
            verb, *arguments = words[words.index("--") + 1 :]
            assert verb == "run"
            yield arguments


def test_options_in_the_commands_for_a_spark_cluster_exist(tmp_path: Path) -> None:
    runs, config = list(documented_runs()), tmp_path / "tidemark.toml"
    config.touch()
    assert len(runs) >= 2
    for arguments in runs:
        parsed_settings(*(str(config) if word.endswith(".toml") else word for word in arguments))


def test_submit_says_how_it_is_used_when_it_is_used_wrongly() -> None:
    script = SUBMIT / "submit.sh"
    environment = {"PATH": os.environ["PATH"]}
    for words, master in ((["run"], "local"), (["--"], "local"), (["--", "run"], "")):
        command, variables = [str(script), *words], {**environment, "MASTER": master}
        ended = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        assert ended.returncode == 2
        assert ended.stderr.startswith("usage: MASTER=")


def test_the_entry_points_of_the_containers_are_commands_of_the_project() -> None:
    (image,) = values_of("ENTRYPOINT")
    assert image == '["tini", "--", "python", "/opt/tidemark/entrypoint.py"]'
    assert not any("entrypoint" in service for service in services().values())
    assert {name for name, service in services().items() if service["image"] == SERVICE} == {
        "tidemark",
        "dashboard",
        "producer",
        "sql",
        "collect",
    }
