"""The formats of access logs: parse a line into a request."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from producers.access_log.request import Request, time_ms

Parse = Callable[[str], Request]
"""Raises ValueError for a line that is not of the format."""

FIELDS: Final = {
    "address": "remote_addr",
    "time": "time_iso8601",
    "request": "request",
    "status": "status",
    "referrer": "http_referer",
    "agent": "http_user_agent",
    "scheme": "scheme",
    "host": "host",
    "purpose": "http_sec_purpose",
}
"""Fields of a log in JSON by meaning, with their default names (nginx's variables)."""
_NEEDED: Final = ("address", "time", "status")

# Possessive, so that no character is examined twice: clients choose the text between the quotes.
_QUOTED: Final = r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
# Further fields may follow the user agent: many servers append upstream times or headers.
_FROM_REQUEST: Final = re.compile(rf"{_QUOTED} (\d{{3}}) (?:\d++|-)(?: {_QUOTED} {_QUOTED})?(?: .*+)?", re.ASCII)
_WHO: Final = 3
"""Address, identity and user; the user may contain spaces."""
_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))")
_NO_ASCII: Final = 0x80
_SURROGATE: Final = 0xDC00
_PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "v": "\v", "f": "\f"}


def combined(line: str) -> Request:
    """Parses a line of Apache's and nginx's `combined` format. Raises ValueError for another line."""
    address, time, match = _split(line)
    if match[3] is None:
        raise ValueError("not a line of the combined format")
    return Request(address, time_ms(time), _text(match[1]), int(match[2]), _text(match[3]), _text(match[4]))


def common(line: str) -> Request:
    """Parses a line of Apache's `common` format: no referrer, no user agent. Raises ValueError for another line."""
    address, time, match = _split(line)
    return Request(address, time_ms(time), _text(match[1]), int(match[2]))


def _split(line: str) -> tuple[str, str, re.Match[str]]:
    """Returns address, time and the match of `_FROM_REQUEST`. Raises ValueError for a line of another format.

    A user name may contain brackets and spaces, but no quote, which servers escape: the first `] "` ends the time.
    """
    before, _, after = line.partition('] "')
    who, _, time = before.rpartition(" [")
    match = _FROM_REQUEST.fullmatch(f'"{after}')
    words = who.split(" ", _WHO - 1)
    if match is None or len(words) < _WHO or not all(words):
        raise ValueError("not a line of the format")
    return words[0], time, match


def json_format(names: Mapping[str, str]) -> Parse:
    """Returns a parser for one JSON object per line; `names` overrides field names of `FIELDS`."""
    fields = {**FIELDS, **names}

    def parse(line: str) -> Request:
        entry = json.loads(line)
        if not isinstance(entry, dict):
            raise ValueError("not a JSON object")  # noqa: TRY004 - the line's error, not the caller's
        texts = {meaning: _field_text(entry, name) for meaning, name in fields.items()}
        missing = [fields[meaning] for meaning in _NEEDED if not texts[meaning]]
        if texts["request"] is None:
            missing.append(fields["request"])
        if missing:
            raise ValueError(f"without {', '.join(missing)}")
        host = texts["host"]
        return Request(
            address=texts["address"] or "",
            time_ms=time_ms(texts["time"] or ""),
            line=texts["request"] or "",
            status=int(texts["status"] or ""),
            referrer=texts["referrer"],
            agent=texts["agent"],
            site=f"{texts['scheme'] or 'https'}://{host}" if host else None,
            purpose=texts["purpose"],
        )

    return parse


def _field_text(entry: Mapping[str, Any], name: str) -> str | None:
    """Returns the text of a field: None if the log line lacks the field, "" if the request lacked it."""
    if name not in entry:
        return None
    value = entry[name]
    # Half of a surrogate pair is valid JSON, but not encodable text.
    return "" if value in (None, "-") else str(value).encode("utf-8", "replace").decode()


def _text(logged: str) -> str:
    """Returns a quoted field without the escapes that Apache and nginx write; "-" is an empty field."""
    if logged == "-":
        return ""
    if "\\" not in logged:
        return logged
    octets = _ESCAPE.sub(_unescaped, logged).encode("utf-8", "surrogateescape")
    return octets.decode("utf-8", "replace")


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        octet = int(match[1], 16)
        # An octet of UTF-8, which is decoded together with its neighbours.
        return chr(octet) if octet < _NO_ASCII else chr(_SURROGATE + octet)
    return _PLAIN.get(match[2], match[2])
