"""Session ids in the path of an address, which are secrets and no part of a page."""

import re
from typing import Final

_SESSION: Final = re.compile(
    r";[^/;=]++=[^/;]*+"
    r"|(?i:(?:;|%3B)jsessionid(?:=|%3D))[^/;]*+"
    r"|(/)(?:\(|%28)(?:[A-Z](?:\(|%28)[^()/%]*+(?:\)|%29))+(?:\)|%29)(?:/|$)"
)
"""Java's parameter `;jsessionid=...` and others of its kind, and ASP.NET's segment `(S(...))`. Robots encode them."""
_PATH: Final = re.compile(r"[^?#]*+")


def without_session_ids(path: str) -> str:
    """Returns the path of an address without session ids.

    >>> without_session_ids("/(S(lit3py55))/shoes;jsessionid=1F2E")
    '/shoes'
    """
    return _SESSION.sub(r"\1", path)


def without_session_ids_in_path(address: str) -> str:
    """Like `without_session_ids`, of an address that may have a query and a fragment, which are not changed."""
    return _PATH.sub(lambda path: without_session_ids(path[0]), address, count=1)
