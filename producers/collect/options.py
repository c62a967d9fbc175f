"""The command line of `producers collect`."""

from functools import partial
from ipaddress import ip_network
from typing import Any, Final
from urllib.parse import urlsplit

import click

from command_line.types import Parsed
from command_line.verbs import SectionOption
from producers.access import access_options
from producers.options import broker_options
from producers.units import length_ms, rate, whole

ANY: Final = "*"


def _origin(text: str) -> str:
    """As a browser writes it, or `*`; ValueError otherwise."""
    parts = urlsplit(text)
    if text != ANY and (not parts.scheme or not parts.netloc or text != f"{parts.scheme}://{parts.netloc}".lower()):
        raise ValueError(f"{text!r} is not an origin; write it like https://shop.example or http://localhost:8000")
    return text


def _network(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError as error:
        raise ValueError(f"{text!r} is no address of a proxy; write it like 10.0.0.7 or 10.0.0.0/8") from error


def _where_from() -> list[click.Option]:
    option = partial(SectionOption, section="Where from")
    return [
        option(["--host"], default="127.0.0.1", metavar="ADDRESS", help="Where to listen; 0.0.0.0 is everywhere."),
        option(["--port"], type=click.IntRange(0, 65_535), default=8480, help="Where to listen; 0: a free one."),
        option(
            ["--allow-origin"],
            type=Parsed("ORIGIN", _origin),
            multiple=True,
            required=True,
            help="A site whose pages may send, like https://shop.example; * for any.",
        ),
        option(
            ["--trust-proxy"],
            type=Parsed("ADDRESS", _network),
            multiple=True,
            help="A proxy, or a network of them, whose X-Forwarded-For is believed.",
        ),
    ]


def _limits() -> list[click.Option]:
    option = partial(SectionOption, section="Limits")
    return [
        option(
            ["--rate"],
            type=Parsed("PER_SECOND", rate),
            default="50",
            help="Events per second of one address; 0: any number.",
        ),
        option(
            ["--new-users"],
            type=click.IntRange(min=0),
            default=1_000,
            help="Different users of one address in an hour; 0: any number.",
        ),
        option(
            ["--new-pages"],
            type=click.IntRange(min=0),
            default=5_000,
            help="Different pages of one address in an hour; 0: any number.",
        ),
        option(
            ["--max-age"],
            type=Parsed("DURATION", length_ms),
            default="10m",
            help="Events that a browser held back for longer are rejected.",
        ),
        option(
            ["--pending"],
            type=Parsed("COUNT", whole),
            default="10000",
            help="Events on their way to Kafka; more are answered 503.",
        ),
        option(
            ["--timeout"],
            type=Parsed("DURATION", length_ms),
            default="5s",
            help="For Kafka to acknowledge; later is answered 503.",
        ),
    ]


def collect_options() -> list[Any]:
    """The options, as they stand in help."""
    return [*broker_options(), *access_options(), *_where_from(), *_limits()]
