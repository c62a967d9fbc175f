"""Undoes the escapes that Apache and nginx write in fields of text."""

import re
from typing import Final

_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))")
_NO_ASCII: Final = 0x80
_SURROGATE: Final = 0xDC00
_PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "v": "\v", "f": "\f"}


def unescaped(logged: str) -> str:
    r"""Returns a logged text without escapes; "-" is an empty field.

    >>> unescaped(r'caf\xC3\xA9 \"au lait\"')
    'café "au lait"'
    """
    if logged == "-":
        return ""
    if "\\" not in logged:
        return logged
    octets = _ESCAPE.sub(_character, logged).encode("utf-8", "surrogateescape")
    return octets.decode("utf-8", "replace")


def _character(match: re.Match[str]) -> str:
    if match[1]:
        octet = int(match[1], 16)
        # An octet of UTF-8, which is decoded together with its neighbours.
        return chr(octet) if octet < _NO_ASCII else chr(_SURROGATE + octet)
    return _PLAIN.get(match[2], match[2])
