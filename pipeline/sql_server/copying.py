"""COPY ... TO STDOUT: the rows of a query as text, CSV or in PostgreSQL's binary form. Source: PostgreSQL, "COPY"."""

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tidemark.pipeline.sql_server.patterns import words
from tidemark.pipeline.sql_server.wire import Refused, sized

_COPY: Final = words(
    r"COPY(?:\s*\((?P<query>.+)\)\s*| (?P<view>[\w.\"]+)(?:\s*\((?P<columns>[^()]+)\)\s*| ))TO STDOUT(?P<options>.*)"
)
_TOKENS: Final = re.compile(r"[eE]?'(?:[^']|'')*'|\w+|\*")
_SIGNATURE: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_ESCAPES: Final = dict(zip(b"\\\b\f\n\r\t\v", (rb"\\", rb"\b", rb"\f", rb"\n", rb"\r", rb"\t", rb"\v"), strict=True))
_TRUE: Final = ("true", "on", "1")
_FALSE: Final = ("false", "off", "0")


@dataclass(slots=True)
class CopyFormat:
    """The format of copied rows: `text`, `csv` or `binary`. `null` means null, None for the format's own."""

    form: str = "text"
    has_header: bool = False
    delimiter: str | None = None
    null: str | None = None
    quote: str = '"'
    escape: str | None = None
    quotes_all: bool = False

    def encoded(self, names: Sequence[str], rows: Iterator[tuple[bytes | None, ...]]) -> Iterator[bytes]:
        """Yields the copied bytes of each row, whose values are encoded as text or in binary form."""
        if self.form == "binary":
            head = _SIGNATURE  # in the first message, as PostgreSQL sends it
            for row in rows:
                yield head + struct.pack("!h", len(row)) + b"".join(map(sized, row))
                head = b""
            yield head + struct.pack("!h", -1)
            return
        encode = self._csv if self.form == "csv" else self._text
        between = (self.delimiter or ("," if self.form == "csv" else "\t")).encode()
        if self.has_header:
            yield between.join(encode(name.encode(), between) for name in names) + b"\n"
        for row in rows:
            yield between.join(encode(value, between) for value in row) + b"\n"

    def _text(self, value: bytes | None, between: bytes) -> bytes:
        if value is None:
            return (r"\N" if self.null is None else self.null).encode()
        escaped = re.sub(rb"[\\\b\f\n\r\t\v]", lambda char: _ESCAPES[ord(char[0])], value)
        return escaped if between == b"\t" else escaped.replace(between, b"\\" + between)

    def _csv(self, value: bytes | None, between: bytes) -> bytes:
        null, quote = (self.null or "").encode(), self.quote.encode()
        if value is None:
            return null
        if (
            not self.quotes_all
            and value not in (null, b"\\.")
            and not any(char in value for char in (between, quote, b"\n", b"\r"))
        ):
            return value
        escape = (self.escape or self.quote).encode()
        if escape != quote:
            value = value.replace(escape, escape + escape)
        return quote + value.replace(quote, escape + quote) + quote


def copy_of(statement: str) -> tuple[str, CopyFormat] | None:
    """Returns the query and the format of COPY ... TO STDOUT; None for other statements. Raises Refused."""
    match = _COPY.fullmatch(statement)
    if match is None:
        return None
    query = match["query"] or f"SELECT {match['columns'] or '*'} FROM {match['view']}"  # noqa: S608 - checked as a query
    return query, _format(_TOKENS.findall(match["options"]))


def _format(tokens: list[str]) -> CopyFormat:
    """Returns the format of options in the old syntax (`WITH CSV HEADER`) or the new (`(FORMAT csv, HEADER true)`)."""
    chosen, waiting = CopyFormat(), [token for token in tokens if token.upper() not in ("WITH", "AS", "FORMAT")][::-1]
    while waiting:
        name = waiting.pop().lower()
        following = _unquoted(waiting[-1]).lower() if waiting else ""
        if _unquoted(name) in ("text", "csv", "binary"):
            chosen.form = _unquoted(name)
        elif name == "header":
            chosen.has_header = following not in _FALSE
            del waiting[len(waiting) - (following in (*_TRUE, *_FALSE)) :]
        elif name == "encoding" and following in ("utf8", "utf-8"):
            waiting.pop()
        elif name == "force_quote" and following == "*":
            chosen.quotes_all = bool(waiting.pop())
        elif name == "null" or (name in ("delimiter", "quote", "escape") and len(following.encode()) == 1):
            setattr(chosen, name, _unquoted(waiting.pop()) if waiting else "")
        else:
            raise Refused("0A000", f"the option {name} {following} of COPY is not supported")
    return chosen


def _unquoted(token: str) -> str:
    """Returns the value of a literal or a word."""
    if token[:1] in ("e", "E") and token[1:2] == "'":
        return token[2:-1].replace("''", "'").replace("\\t", "\t").replace("\\\\", "\\")
    return token[1:-1].replace("''", "'") if token.startswith("'") else token
