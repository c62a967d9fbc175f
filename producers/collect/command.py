"""The verb `producers collect`."""

from argparse import Namespace
from typing import Any, Final

from tidemark.command_line.verbs import Verb
from tidemark.producers.collect.options import collect_options


def _collect(**options: Any) -> int:
    # Imported late, so that `--help` does not wait for the server.
    from tidemark.producers.collect.collect_run import execute

    execute(Namespace(**options))
    return 0


collect: Final = Verb(
    "collect",
    callback=_collect,
    params=collect_options(),
    help="Accepts visits and clicks by HTTP and answers once Kafka has acknowledged them. Also serves the snippet that "
    "sends them.",
    context_settings={"show_default": True},
    examples=[
        "producers collect --bootstrap-servers kafka:9092 --topic events --allow-origin https://shop.example",
        "producers collect --topic events --allow-origin '*' --host 0.0.0.0 --trust-proxy 10.0.0.0/8",
    ],
)
