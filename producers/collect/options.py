"""The command line of `producers collect`."""

import re
from contextlib import suppress
from functools import partial
from ipaddress import ip_network
from typing import Any, Final

import click
from pydantic_core import Url, ValidationError

from tidemark.command_line.types import Parsed
from tidemark.command_line.verbs import SectionOption
from tidemark.producers.access import access_options
from tidemark.producers.options import broker_options
from tidemark.producers.units import length_ms, rate, whole

ANY: Final = "*"
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@*]+")


def _origin(text: str) -> str:
    """Returns an origin as browsers write it, or `*`. Raises ValueError for any other text.

    Browsers write it in lower case and in ASCII, without the default port.
    """
    if text == ANY:
        return text
    with suppress(ValidationError):
        origin = str(Url(text)).removesuffix("/")
        if _ORIGIN.fullmatch(origin):
            return origin
    raise ValueError(
        f"{text!r} is not an origin; write it like https://shop.example or http://localhost:8000, each subdomain apart"
    )


def _network(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError as error:
        raise ValueError(f"{text!r} is not the address of a proxy; write it like 10.0.0.7 or 10.0.0.0/8") from error


def _endpoint_options() -> list[click.Option]:
    option = partial(SectionOption, section="Endpoint")
    return [
        option(
            ["--host"], default="127.0.0.1", metavar="ADDRESS", help="Address to listen on; 0.0.0.0: all addresses."
        ),
        option(["--port"], type=click.IntRange(0, 65_535), default=8480, help="Port to listen on; 0: any free port."),
        option(
            ["--allow-origin"],
            type=Parsed("ORIGIN", _origin),
            multiple=True,
            required=True,
            help="Site whose pages may send events, like https://shop.example; *: any site.",
        ),
        option(
            ["--keep-robots"],
            is_flag=True,
            help="Accept events of robots, and of clients without a user agent.",
        ),
        option(
            ["--trust-proxy"],
            type=Parsed("ADDRESS", _network),
            multiple=True,
            help="Proxy or network of proxies whose X-Forwarded-For is trusted.",
        ),
    ]


def _limits_options() -> list[click.Option]:
    option = partial(SectionOption, section="Limits")
    return [
        option(
            ["--rate"],
            type=Parsed("PER_SECOND", rate),
            default="50",
            help="Events per second per address; 0: no limit.",
        ),
        option(
            ["--new-users"],
            type=click.IntRange(min=0),
            default=1_000,
            help="New users per address and hour; 0: no limit.",
        ),
        option(
            ["--new-pages"],
            type=click.IntRange(min=0),
            default=5_000,
            help="New pages per address and hour; 0: no limit.",
        ),
        option(
            ["--max-age"],
            type=Parsed("DURATION", length_ms),
            default="10m",
            help="Reject events that a browser held back for longer.",
        ),
        option(
            ["--pending"],
            type=Parsed("COUNT", whole),
            default="10000",
            help="Events not yet acknowledged by Kafka; beyond it the answer is 503.",
        ),
        option(
            ["--timeout"],
            type=Parsed("DURATION", length_ms),
            default="5s",
            help="Time-out of Kafka's acknowledgement; after it the answer is 503.",
        ),
    ]


def collect_options() -> list[Any]:
    """Returns the options, in the order of the help."""
    return [*broker_options(), *access_options(), *_endpoint_options(), *_limits_options()]
