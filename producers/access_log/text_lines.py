"""Access logs of text: a log format becomes an expression that reads what the server wrote with it."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from tidemark.producers.access_log.escapes import unescaped
from tidemark.producers.access_log.log_format import VARIABLES, nginx_format
from tidemark.producers.access_log.request import Request
from tidemark.producers.access_log.request_fields import LineParser, missing, request_of

_VARIABLE: Final = re.compile(r"\$(?:\{(\w++)\}|(\w++))", re.ASCII)
_NEEDED: Final = {
    "address": "address ($remote_addr, %h)",
    "time": "time ($time_local, %t)",
    "status": "status ($status, %>s)",
    "request": "request ($request, %r)",
}
_MAY_HAVE_SPACES: Final = frozenset({"request", "agent"})

# Possessive, so that no character is examined twice: clients choose the text of most variables. No group is possessive,
# because CPython before 3.11.5 matches such groups wrongly: instead, one that repeats ends where it cannot match again.
_LOCAL_TIME: Final = r"\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}"
_LIST: Final = r"[^ ]*+(?:(?<=,) [^ ]*+)*(?!(?<=,) )"
"""Matches a list of addresses (X-Forwarded-For) or of upstream times: up to a space that does not follow a comma."""
_USER_NAME: Final = r".*?"
"""Matches a user name, which may contain spaces and brackets: it ends where the rest of the format matches."""
_HOST: Final = r"[^/:\s\"]*+(?=/)"
"""Matches a host that a URI follows directly."""


def text_format(template: str) -> LineParser:
    """Returns a parser of lines that a server writes with the log format `template`.

    Raises ValueError if lines of the format have no address, time, status or request, or are ambiguous.
    """
    names, literals = _split(nginx_format(template))
    chosen = {meaning: name for meaning, known in VARIABLES.items() if (name := _first(known, names))}
    if absent := [_NEEDED[meaning] for meaning in missing(chosen.__contains__)]:
        raise ValueError(f"the log format {template!r} has no {' and no '.join(absent)}")
    pattern = _pattern(names, literals, {name: meaning for meaning, name in chosen.items()})

    def parse(line: str) -> Request:
        match = pattern.fullmatch(line)
        if match is None:
            raise ValueError("not a line of the format")
        return request_of({meaning: unescaped(text) for meaning, text in match.groupdict().items()})

    return parse


def _split(template: str) -> tuple[Sequence[str], Sequence[str]]:
    """Returns the variables, and the literals before, between and after them."""
    pieces = _VARIABLE.split(template)
    return [braced or plain for braced, plain in zip(pieces[1::3], pieces[2::3], strict=True)], pieces[::3]


def _first(known: Sequence[str], names: Sequence[str]) -> str | None:
    return next((name for name in known if name in names), None)


def _pattern(names: Sequence[str], literals: Sequence[str], meanings: dict[str, str]) -> re.Pattern[str]:
    """Returns the expression up to the last variable in `meanings`; the rest of a line may be anything."""
    pattern, quotes = re.escape(literals[0]), literals[0].count('"')
    last = max(index for index, name in enumerate(names) if name in meanings)
    remaining, day = dict(meanings), _day_of_syslog(names, literals, meanings)
    for index, (name, literal) in enumerate(zip(names[: last + 1], literals[1:], strict=False)):
        meaning = remaining.pop(name, None)
        if literal or index + 1 == len(names):
            text = _variable(name, meaning, literal, is_quoted=quotes % 2 == 1)
        else:
            text = _adjacent(name, names[index + 1])
        if index == day:
            text = f" ?{text}"
        pattern += (f"(?P<{meaning}>{text})" if meaning else f"(?:{text})") + re.escape(literal)
        quotes += literal.count('"')
    return re.compile(pattern + (".*+" if last + 1 < len(names) else "(?: .*+)?"), re.ASCII)


def _day_of_syslog(names: Sequence[str], literals: Sequence[str], meanings: Collection[str]) -> int | None:
    """Returns the index of the variable that may be a day as in `May  1`, which is padded by a space.

    It follows the first space, and no variable that is read precedes it.
    """
    first = next(index for index, name in enumerate(names) if name in meanings)
    return next((index for index in range(1, first) if literals[index] == " "), None)


def _variable(name: str, meaning: str | None, literal: str, *, is_quoted: bool) -> str:
    """Returns the expression of the text of a variable that `literal` follows."""
    if meaning == "status":
        return r"\d{3}"
    if name == "time_local":
        return _LOCAL_TIME
    end = re.escape(literal[:1])
    if is_quoted:
        return rf'[^"\\{end}]*+(?:\\.[^"\\{end}]*+)*(?!\\.)'
    return _before_space(name, meaning) if literal.startswith(" ") else _before(end)


def _adjacent(name: str, following: str) -> str:
    if name in VARIABLES["host"] and following in VARIABLES["uri"]:
        return _HOST
    raise ValueError(f"the log format has nothing between ${name} and ${following}; their ends cannot be recognised")


def _before(end: str) -> str:
    if not end:
        return ".*+"
    return rf"[^\[{end}]*+" if end == r"\]" else f"[^{end}]*+"


def _before_space(name: str, meaning: str | None) -> str:
    if name == "remote_user":
        return _USER_NAME
    if meaning in _MAY_HAVE_SPACES:
        raise ValueError(f"the log format has ${name} before a space and not in quotes; its end cannot be recognised")
    return _LIST if meaning == "address" or name.startswith(("http_x_forwarded", "upstream_")) else "[^ ]*+"
