"""Reads JSON that a strict reader refuses because of one value: a bad event must not reject the others."""

import json
import re
from typing import Any, Final

_EVENT_DEPTH: Final = 4
"""Brackets around a value of an event: those of the body, of the list, of the event, and of its properties."""
_LONGEST_INTEGER: Final = 20
_TOKENS: Final = re.compile(r'[\[{]|[\]}]|(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*"?)+', re.DOTALL)
"""A bracket, or everything between two brackets; an unterminated text extends to the end of the body."""


def loads(body: bytes) -> Any:
    """Returns the value of `body`. Raises JSONDecodeError if it is not JSON.

    Octets that are not UTF-8, and halves of surrogate pairs, become text that is not valid; an integer that is too long
    becomes a number that is not an integer; a value inside a value of an event becomes empty if it is too deep. None of
    them is a valid value.
    """
    text = body.decode("utf-8", "surrogateescape")
    try:
        return _loads(text)
    except RecursionError:
        return _loads(_without_depth(text))


def _loads(text: str) -> Any:
    return json.loads(text, parse_int=_integer, strict=False)


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float("inf")


def _without_depth(text: str) -> str:
    """Returns `text` without the content of brackets inside a value of an event."""
    depth, outer = 0, list[str]()
    for token in _TOKENS.findall(text):
        depth -= token in ("]", "}")
        if depth <= _EVENT_DEPTH:
            outer.append(token)
        depth += token in ("[", "{")
    return "".join(outer)
