"""The command line of a collector: exit code 2, one sentence, no traceback."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.producers.collect.collect_client import collecting
from tests.support.kafka_cluster import Cluster
from tidemark.producers.broker import Target, partitions_of
from tidemark.producers.cli import main
from tidemark.producers.collect.options import collect_options

MakeTopic = Callable[..., str]
SITE = ["--allow-origin", "https://shop.example"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "Missing option '--allow-origin'"),
        (["--allow-origin", "shop.example"], "'shop.example' is not an origin; write it like https://shop.example"),
        (["--allow-origin", "https://*.shop.example"], "'https://*.shop.example' is not an origin"),
        (["--allow-origin", "https://shop.example/shoes"], "'https://shop.example/shoes' is not an origin"),
        (["--allow-origin", "https://shop.example?a"], "'https://shop.example?a' is not an origin"),
        (["--allow-origin", "https://ann:secret@shop.example"], "is not an origin"),
        (["--allow-origin", "https://"], "'https://' is not an origin"),
        (["--allow-origin", "null"], "'null' is not an origin"),
        ([*SITE, "--trust-proxy", "proxy"], "'proxy' is not the address of a proxy; write it like 10.0.0.7"),
        ([*SITE, "--port", "70000"], "--port: 70000 is not in the range"),
        ([*SITE, "--rate", "-1"], "'-1' is not a rate"),
        ([*SITE, "--pending", "0"], "'0' is not a whole number above 0"),
        ([*SITE, "--timeout", "soon"], "'soon' is not a duration"),
        (
            [*SITE, "--bootstrap-servers", "127.0.0.1:1", "--timeout", "100ms"],
            "no Kafka broker answered at 127.0.0.1:1 within 0.1 s",
        ),
    ],
)
def test_an_invalid_option_is_one_sentence(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", *options]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("*", "*"),
        ("https://shop.example", "https://shop.example"),
        ("https://shop.example/", "https://shop.example"),
        ("HTTPS://Shop.Example:443", "https://shop.example"),
        ("http://shop.example:80", "http://shop.example"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("https://münchen.example", "https://xn--mnchen-3ya.example"),
        ("http://[0:0::1]:8000", "http://[::1]:8000"),
        ("capacitor://localhost", "capacitor://localhost"),
    ],
)
def test_an_origin_is_compared_as_browsers_write_it(text: str, origin: str) -> None:
    option = next(option for option in collect_options() if option.name == "allow_origin")
    assert option.type.convert(text, option, None) == origin


def test_help_names_the_address_and_the_required_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", "--help"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "--host ADDRESS Address to listen on; 0.0.0.0: all addresses. [default: 127.0.0.1]" in output
    assert "[required]" in output


@pytest.mark.broker
def test_an_address_in_use_and_a_missing_topic_are_reported(
    broker: Cluster, make_topic: MakeTopic, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["collect", *SITE, "--bootstrap-servers", broker.bootstrap_servers, "--topic"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main([*where, make_topic(), "--port", str(port)]) == 2
    assert f"cannot listen on 127.0.0.1 port {port} (Address already in use)" in capsys.readouterr().err
    assert main([*where, "no-such-topic"]) == 2
    assert "there is no topic 'no-such-topic'" in capsys.readouterr().err


@pytest.mark.broker
def test_a_missing_topic_is_created_if_the_option_says_so(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = f"{make_topic()}.created"
    options = [*SITE, "--create-topic", "--partitions", "3"]
    with collecting(broker.bootstrap_servers, topic, tmp_path / "log", *options):
        assert partitions_of(Target(broker.bootstrap_servers, topic, 10_000)) == 3
