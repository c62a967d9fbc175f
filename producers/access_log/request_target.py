"""The target of a request in canonical spelling: different spellings of an address are one page."""

import re
import string
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_plus

from tidemark.producers.session_ids import without_session_ids

# White space outside ASCII is part of a target: nginx logs it unchanged.
_REQUEST_LINE: Final = re.compile(r"([A-Z][A-Z0-9_-]*+) ([^\x00-\x20\x7f]++) HTTP/\d(?:\.\d)?", re.ASCII)
_PRINTABLE: Final = "".join(map(chr, range(0x20, 0x7F)))
_UNRESERVED: Final = frozenset(string.ascii_letters + string.digits + "-._~")
_ENCODED: Final = re.compile(r"%([0-9A-Fa-f]{2})")


class RequestTarget(NamedTuple):
    """Method, path and query of a request; the path is canonical, the query is unchanged."""

    method: str
    path: str
    query: str


def parse_target(line: str) -> RequestTarget | None:
    """Returns the target of a request line, None if the line is not HTTP."""
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        return None
    path, _, query = match[2].partition("?")
    return RequestTarget(match[1], canonical_path(path), query)


def canonical_path(path: str) -> str:
    """Returns a path, or an address up to its query, in canonical spelling and without session ids.

    >>> canonical_path("/%7eann/caf%c3%a9;jsessionid=1F2E")
    '/~ann/caf%C3%A9'
    """
    return without_session_ids(canonical(path))


def canonical(text: str) -> str:
    """Returns part of an address with exactly those octets encoded that must be (RFC 3986, 6.2.2)."""
    if "%" not in text and text.isascii():
        return text
    return _ENCODED.sub(_respelt, quote(text, safe=_PRINTABLE))


def _respelt(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


def selected_query(query: str, names: Collection[str]) -> str:
    """Returns the parameters of `query` whose decoded names are in `names`, in their order."""
    return "&".join(_selected_parameters(query, names)) if names else ""


def _selected_parameters(query: str, names: Collection[str]) -> Iterator[str]:
    for parameter in query.split("&"):
        name, equals, value = parameter.partition("=")
        if (decoded := unquote_plus(name)) in names:
            yield f"{quote(decoded, safe='')}{equals}{canonical(value)}"
