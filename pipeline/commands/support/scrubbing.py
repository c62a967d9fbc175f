"""Removes from a text what may identify a person or a machine, whatever wrote it."""

import re
from ipaddress import ip_address
from typing import Final

_PATTERNS: Final = {
    "url": re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"]*", re.IGNORECASE),
    "e-mail": re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)*"),
    "address": re.compile(r"(?<![\w.])\d{1,3}(\.\d{1,3}){3}(?!\.?\w)"),
    "path": re.compile(r"(?<![\w.>=-])~?/[^\s'\",;()]+"),
}
"""Patterns by the word that replaces a match. URLs come first, because they contain paths."""
_MAYBE_IPV6: Final = re.compile(r"(?<!\w)[0-9a-f]*:[0-9a-f:.]*[0-9a-f:](?!\w)", re.IGNORECASE)


def scrubbed(text: str) -> str:
    """Returns the text without URLs, e-mail addresses, addresses of machines and absolute paths.

    >>> scrubbed("cannot connect from 10.1.2.3 to s3://key@bucket/ann at 12:00:30: see /home/ann/log")
    'cannot connect from (address) to (url) at 12:00:30: see (path)'
    """
    for name, pattern in _PATTERNS.items():
        text = pattern.sub(f"({name})", text)
    return _MAYBE_IPV6.sub(lambda match: "(address)" if _is_address(match[0]) else match[0], text)


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False
