"""The command line of `producers access-log`: every option, its unit and its default."""

from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote_plus

import click

from command_line.times import duration_ms, instant_ms
from command_line.types import Parsed, named
from command_line.verbs import SectionOption
from producers.access import access_options
from producers.access_log.formats import FIELDS
from producers.options import filling_options
from producers.units import length_ms

FORMATS: Final = ("combined", "common", "json")


def _name(text: str) -> str:
    if not text or any(not (one.isascii() and (one.isalnum() or one in "._-")) for one in text):
        raise ValueError(f"{text!r} is no name; write letters, digits, '.', '_' and '-'")
    return text


def _fields(text: str) -> dict[str, str]:
    pairs = dict(pair.partition("=")[::2] for pair in text.split(","))
    for meaning, field in pairs.items():
        if meaning not in FIELDS or not field:
            raise ValueError(f"{meaning!r} is not given a field; write as time=ts, with one of {', '.join(FIELDS)}")
    return pairs


def _names(text: str) -> frozenset[str]:
    return frozenset(map(unquote_plus, text.split(",")))


def _site(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise ValueError(f"{text!r} is no address of a site; write as https://shop.example")
    return text.rstrip("/")


def _where_to() -> list[click.Option]:
    option = partial(SectionOption, section="Where to")
    return [
        *filling_options(),
        option(["--timeout"], type=Parsed("DURATION", length_ms), default="30s", help="For the broker to answer."),
        option(
            ["--name"],
            type=Parsed("NAME", _name),
            required=True,
            help="Under it the run is known, and goes on where it ended; one for each log.",
        ),
        option(
            ["--state-topic"],
            default="access-log-state",
            type=named("NAME"),
            help="The compacted topic on which runs keep where they are; created if there is none.",
        ),
    ]


def _log() -> list[click.Option]:
    option = partial(SectionOption, section="The log")
    return [
        option(["--format"], type=click.Choice(FORMATS), default="combined", help="How its lines are written."),
        option(
            ["--json-fields"],
            type=Parsed("MEANING=FIELD,...", _fields),
            default={},
            show_default=False,
            help="Fields that the format json names otherwise than nginx's variables: "
            + ", ".join(f"{meaning}={field}" for meaning, field in FIELDS.items())
            + ".",
        ),
        option(["--until-caught-up"], is_flag=True, help="End when all lines that are there were read."),
        option(
            ["--settle"],
            type=Parsed("DURATION", duration_ms),
            default="5s",
            help="How long a rotated file must have been left alone before the next is read.",
        ),
    ]


def _visits() -> list[click.Option]:
    option = partial(SectionOption, section="What is a visit")
    return [
        option(["--salt-file"], type=click.Path(path_type=Path), required=True, help="The salt of users' pseudonyms."),
        option(["--session-gap"], type=Parsed("DURATION", length_ms), default="30m", help="It ends a user's session."),
        option(["--site"], type=Parsed("URL", _site), help="Stands before each path, as https://shop.example."),
        option(
            ["--query-parameters"],
            type=Parsed("NAME,...", _names),
            default=frozenset(),
            show_default=False,
            help="Those that tell one page from another and are kept; all others are left out.",
        ),
        option(["--ignore"], multiple=True, metavar="PATTERN", help="Paths that are no pages, as '/api/*'."),
        option(["--since"], type=Parsed("TIME", instant_ms), help="Leave out what is older, as 2024-05-01T00:00:00Z."),
    ]


def _metrics() -> list[click.Option]:
    option = partial(SectionOption, section="Metrics")
    return [
        option(["--metrics-port"], type=click.IntRange(1, 65_535), help="Serve counts of lines to Prometheus there."),
        option(["--metrics-host"], default="127.0.0.1", metavar="ADDRESS", help="Where that port listens."),
    ]


def access_log_options() -> list[Any]:
    """The log and the options, as they stand in help."""
    log = click.Argument(["log"], type=click.Path(path_type=Path, allow_dash=True))
    return [log, *_where_to(), *access_options(), *_log(), *_visits(), *_metrics()]
