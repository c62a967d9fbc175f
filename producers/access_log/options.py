"""The command line of `producers access-log`: every option, its unit and its default."""

from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import click

from tidemark.command_line.times import duration_ms, instant_ms
from tidemark.command_line.types import Parsed, named
from tidemark.command_line.verbs import SectionOption
from tidemark.producers.access import access_options
from tidemark.producers.access_log.formats import JSON, TEXT, format_of
from tidemark.producers.access_log.json_lines import FIELDS
from tidemark.producers.options import KAFKA, batch_options
from tidemark.producers.units import length_ms


def _name(text: str) -> str:
    if not text or any(not (letter.isascii() and (letter.isalnum() or letter in "._-")) for letter in text):
        raise ValueError(f"{text!r} is not a name; use letters, digits, '.', '_' and '-'")
    return text


def _format(text: str) -> str:
    format_of(text, {})
    return text


def _fields(text: str) -> dict[str, str]:
    pairs = dict(pair.partition("=")[::2] for pair in text.split(","))
    for meaning, field in pairs.items():
        if meaning not in FIELDS or not field:
            raise ValueError(f"{meaning!r} has no field; write it like time=ts, with one of {', '.join(FIELDS)}")
    return pairs


def _names(text: str) -> frozenset[str]:
    return frozenset(map(unquote_plus, text.split(",")))


def _site(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise ValueError(f"{text!r} is not the address of a site; write it like https://shop.example")
    return text.rstrip("/")


def _kafka_options() -> list[click.Option]:
    option = partial(SectionOption, section=KAFKA)
    return [
        *batch_options(),
        option(["--timeout"], type=Parsed("DURATION", length_ms), default="30s", help="Time-out of the broker."),
        option(
            ["--name"],
            type=Parsed("NAME", _name),
            required=True,
            help="Run id, one per log; a restart with the same id resumes.",
        ),
        option(
            ["--state-topic"],
            default="access-log-state",
            type=named("NAME"),
            help="Compacted topic that stores the positions of runs; created if it does not exist.",
        ),
    ]


def _log_options() -> list[click.Option]:
    option = partial(SectionOption, section="The log")
    return [
        option(
            ["--format"],
            type=Parsed("FORMAT", _format),
            default="combined",
            help=f"Format of its lines: {', '.join([*TEXT, *JSON])}, or the log_format of nginx or the LogFormat of "
            "Apache as the server's configuration has it.",
        ),
        option(
            ["--json-fields"],
            type=Parsed("MEANING=FIELD,...", _fields),
            default={},
            show_default=False,
            help="Field names of the format json, nested names with dots; by default nginx's variables: "
            + ", ".join(f"{meaning}={field}" for meaning, field in FIELDS.items())
            + ".",
        ),
        option(["--until-caught-up"], is_flag=True, help="Stop at the end of the log."),
        option(
            ["--settle"],
            type=Parsed("DURATION", duration_ms),
            default="5s",
            help="Read the next file once the rotated file has not changed for this long.",
        ),
    ]


def _visits_options() -> list[click.Option]:
    option = partial(SectionOption, section="Visits")
    return [
        option(
            ["--salt-file"], type=click.Path(path_type=Path), required=True, help="File with the salt of pseudonyms."
        ),
        option(
            ["--session-gap"], type=Parsed("DURATION", length_ms), default="30m", help="Inactivity that ends a session."
        ),
        option(["--site"], type=Parsed("URL", _site), help="Prefix of each path, like https://shop.example."),
        option(
            ["--query-parameters"],
            type=Parsed("NAME,...", _names),
            default=frozenset(),
            show_default=False,
            help="Parameters that identify a page; all others are removed.",
        ),
        option(["--ignore"], multiple=True, metavar="PATTERN", help="Paths that are not pages, like '/api/*'."),
        option(["--since"], type=Parsed("TIME", instant_ms), help="Skip older requests, like 2024-05-01T00:00:00Z."),
    ]


def _metrics_options() -> list[click.Option]:
    option = partial(SectionOption, section="Metrics")
    return [
        option(["--metrics-port"], type=click.IntRange(1, 65_535), help="Port for Prometheus, with counts of lines."),
        option(["--metrics-host"], default="127.0.0.1", metavar="ADDRESS", help="Address of the metrics port."),
    ]


def access_log_options() -> list[Any]:
    """Returns the argument LOG and the options, in the order of the help."""
    log = click.Argument(["log"], type=click.Path(path_type=Path, allow_dash=True))
    return [log, *_kafka_options(), *access_options(), *_log_options(), *_visits_options(), *_metrics_options()]
