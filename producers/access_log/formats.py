"""The formats of access logs: from a line to a request."""

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
"""Of a log in JSON: what a field means, and how it is named unless told otherwise (nginx's variables)."""
_NEEDED: Final = ("address", "time", "status")

# Possessive, so that no character is looked at twice: whoever sends requests chooses what is between the quotes.
_QUOTED: Final = r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
# After the agent more may follow: many append times of upstreams, or headers.
_FROM_REQUEST: Final = re.compile(rf"{_QUOTED} (\d{{3}}) (?:\d++|-)(?: {_QUOTED} {_QUOTED})?(?: .*+)?", re.ASCII)
_WHO: Final = 3
"""Address, identity and user, of which the user may have spaces."""
_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))")
_NO_ASCII: Final = 0x80
_SURROGATE: Final = 0xDC00
_PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "v": "\v", "f": "\f"}


def combined(line: str) -> Request:
    """Apache's and nginx's `combined`. Raises ValueError for another line."""
    address, time, match = _split(line)
    if match[3] is None:
        raise ValueError("not a line of the combined format")
    return Request(address, time_ms(time), _text(match[1]), int(match[2]), _text(match[3]), _text(match[4]))


def common(line: str) -> Request:
    """Apache's `common`, which has neither referrer nor agent. Raises ValueError for another line."""
    address, time, match = _split(line)
    return Request(address, time_ms(time), _text(match[1]), int(match[2]))


def _split(line: str) -> tuple[str, str, re.Match[str]]:
    """Returns address, time, and the fields of `_FROM_REQUEST`. Raises ValueError for a line of another format.

    A user name may have brackets and spaces, but no quote, which servers escape: the first `] "` ends the time.
    """
    before, _, after = line.partition('] "')
    who, _, time = before.rpartition(" [")
    match = _FROM_REQUEST.fullmatch(f'"{after}')
    words = who.split(" ", _WHO - 1)
    if match is None or len(words) < _WHO or not all(words):
        raise ValueError("not a line of the format")
    return words[0], time, match


def json_format(names: Mapping[str, str]) -> Parse:
    """A format of a JSON object a line, with the fields of `FIELDS`, of which `names` names some otherwise."""
    fields = {**FIELDS, **names}

    def parse(line: str) -> Request:
        found = json.loads(line)
        if not isinstance(found, dict):
            raise ValueError("not a JSON object")  # noqa: TRY004 - the line's error, not the caller's
        told = {meaning: _told(found, name) for meaning, name in fields.items()}
        missing = [fields[meaning] for meaning in _NEEDED if not told[meaning]]
        if told["request"] is None:
            missing.append(fields["request"])
        if missing:
            raise ValueError(f"without {', '.join(missing)}")
        host = told["host"]
        return Request(
            address=told["address"] or "",
            time_ms=time_ms(told["time"] or ""),
            line=told["request"] or "",
            status=int(told["status"] or ""),
            referrer=told["referrer"],
            agent=told["agent"],
            site=f"{told['scheme'] or 'https'}://{host}" if host else None,
            purpose=told["purpose"],
        )

    return parse


def _told(found: Mapping[str, Any], name: str) -> str | None:
    """The text of a field: None if the line does not have it, "" if the request did not."""
    if name not in found:
        return None
    value = found[name]
    # Half of a surrogate pair is JSON, and no text.
    return "" if value in (None, "-") else str(value).encode("utf-8", "replace").decode()


def _text(logged: str) -> str:
    """A quoted field without its escapes, as Apache and nginx write them; "-" stands for none."""
    if logged == "-":
        return ""
    if "\\" not in logged:
        return logged
    octets = _ESCAPE.sub(_unescaped, logged).encode("utf-8", "surrogateescape")
    return octets.decode("utf-8", "replace")


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        octet = int(match[1], 16)
        # An octet of UTF-8, to be joined with its neighbours.
        return chr(octet) if octet < _NO_ASCII else chr(_SURROGATE + octet)
    return _PLAIN.get(match[2], match[2])
