"""The formats of access logs by name, and formats that are given as the server's configuration has them."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from tidemark.producers.access_log.json_lines import CADDY, GOOGLE, TRAEFIK, json_format
from tidemark.producers.access_log.request_fields import LineParser
from tidemark.producers.access_log.text_lines import text_format

_COMMON: Final = '$remote_addr $identity $remote_user [$time_local] "$request" $status $body_bytes_sent'
_COMBINED: Final = f'{_COMMON} "$http_referer" "$http_user_agent"'
TEXT: Final = {"combined": _COMBINED, "vhost_combined": f"$http_host {_COMBINED}", "common": _COMMON}
"""Apache's formats, in nginx's notation. The host of `vhost_combined` may have a port."""
JSON: Final[Mapping[str, Mapping[str, str]]] = {"json": {}, "caddy": CADDY, "traefik": TRAEFIK, "google": GOOGLE}
"""Formats in JSON, each with the names that differ from the default names."""


def format_of(text: str, names: Mapping[str, str]) -> LineParser:
    """Returns the parser of a named format, or of a `log_format` or `LogFormat`. `names` are fields of JSON.

    Raises ValueError if `text` is neither.
    """
    if text in JSON:
        return json_format({**JSON[text], **names})
    if text.lstrip().startswith("{"):
        raise ValueError(f"{text!r} writes JSON; use the format json, and name its fields by --json-fields")
    if text not in TEXT and not any(mark in text for mark in "$%"):
        known = ", ".join([*TEXT, *JSON])
        raise ValueError(f"{text!r} is no format; use {known}, or the server's own log_format or LogFormat")
    return text_format(TEXT.get(text, text))


def name_of_format(line: str) -> str | None:
    """Returns the name of the first format that a line is in; None if it is in no named format."""
    for name in [*reversed([*JSON]), *TEXT]:
        with suppress(ValueError, RecursionError):
            format_of(name, {})(line)
            return name
    return None


combined: Final = format_of("combined", {})
common: Final = format_of("common", {})
