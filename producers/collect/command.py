"""`producers collect`: the composition root of a collector."""

from argparse import Namespace
from typing import Any, Final

from command_line.verbs import Verb
from producers.collect.options import collect_options


def _collect(**options: Any) -> int:
    # The server is not what `--help` should wait for.
    from producers.collect.collect import execute

    execute(Namespace(**options))
    return 0


collect: Final = Verb(
    "collect",
    callback=_collect,
    params=collect_options(),
    short_help="Take visits and clicks of browsers.",
    help="Takes visits and clicks by HTTP and answers when Kafka has them. Serves the snippet that sends them, too.",
    context_settings={"show_default": True},
    examples=[
        "producers collect --bootstrap-servers kafka:9092 --topic events --allow-origin https://shop.example",
        "producers collect --topic events --allow-origin '*' --host 0.0.0.0 --trust-proxy 10.0.0.0/8",
    ],
)
