"""What a request line asks for, in one spelling: a page is the same page however its address was typed."""

import re
import string
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_plus

# White space beyond ASCII is part of a target: nginx logs it as it came.
_REQUEST_LINE: Final = re.compile(r"([A-Z][A-Z0-9_-]*+) ([^\x00-\x20\x7f]++) HTTP/\d(?:\.\d)?", re.ASCII)
_PRINTABLE: Final = "".join(map(chr, range(0x20, 0x7F)))
_UNRESERVED: Final = frozenset(string.ascii_letters + string.digits + "-._~")
_ENCODED: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_SESSION: Final = re.compile(r";[^/;=]++=[^/;]*+|(/)\((?:[A-Z]\([^()/]*+\))++\)(?:/|$)")
"""Parameters of a path, as Java's `;jsessionid=...`, and segments as ASP.NET's `(S(...))`: secrets of a session."""


class Target(NamedTuple):
    """Method, path and query of a request; the path is canonical, the query as it was sent."""

    method: str
    path: str
    query: str


def target_of(line: str) -> Target | None:
    """Returns what a request line asks for; None if it is no line of HTTP."""
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        return None
    path, _, query = match[2].partition("?")
    return Target(match[1], canonical_path(path), query)


def canonical_path(path: str) -> str:
    """The path, or the address up to its query, in its canonical spelling and without a session's id.

    >>> canonical_path("/%7eann/caf%c3%a9;jsessionid=1F2E")
    '/~ann/caf%C3%A9'
    """
    return _SESSION.sub(r"\1", canonical(path))


def canonical(text: str) -> str:
    """Part of an address with octets encoded where they must be, and only there (RFC 3986, 6.2.2)."""
    if "%" not in text and text.isascii():
        return text
    return _ENCODED.sub(_respelt, quote(text, safe=_PRINTABLE))


def _respelt(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


def kept_query(query: str, names: Collection[str]) -> str:
    """The parameters of a query whose decoded names are in `names`, in their order."""
    return "&".join(_kept(query, names)) if names else ""


def _kept(query: str, names: Collection[str]) -> Iterator[str]:
    for parameter in query.split("&"):
        name, equals, value = parameter.partition("=")
        if (decoded := unquote_plus(name)) in names:
            yield f"{quote(decoded, safe='')}{equals}{canonical(value)}"
