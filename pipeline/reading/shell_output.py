"""Makes the output of DuckDB's shell harmless to terminals and spreadsheets. Also runs as the shell's pager."""

import csv
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Final, TextIO

from tidemark.command_line.printable import printable

_FORMULA: Final = re.compile(r"[=+\-@]")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class _Echo:
    """A file whose `write` returns its argument, which `csv.writer` then returns."""

    def write(self, text: str) -> str:
        return text


def harmless_lines(lines: Iterable[str], form: str, encoding: str = "utf-8") -> Iterator[str]:
    """Yields output lines in the format `form` of `tidemark sql`, with unprintable characters as escapes.

    JSON values do not change: characters that `encoding` lacks are escaped, too. A CSV cell that a spreadsheet would
    read as a formula gets an apostrophe in front.
    """
    match form:
        case "csv":
            csv.field_size_limit(sys.maxsize)
            write = csv.writer(_Echo(), lineterminator="\n").writerow
            yield from (str(write(map(harmless_cell, row))) for row in csv.reader(lines))
        case "json":
            yield from (_json(line.rstrip("\n"), encoding) + "\n" for line in lines)
        case _:
            yield from (printable(line.rstrip("\n")) + "\n" for line in lines)


def copy_lines(lines: IO[str], form: str, out: TextIO) -> None:
    """Writes each line to `out` as soon as it is read; stops when the reader of `out` has gone."""
    try:
        for line in harmless_lines(lines, form, out.encoding):
            out.write(line)
            out.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # so that Python's last flush does not fail


def harmless_cell(text: str) -> str:
    """Returns the text of a CSV cell with unprintable characters as escapes, and an apostrophe before a formula."""
    cell = printable(text)
    return f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell


def _json(line: str, encoding: str) -> str:
    """Returns the line with JSON escapes, which do not change its values."""
    lacking = {char for char in {*line} if not char.isprintable() or not char.encode(encoding, "ignore")}
    return "".join(json.dumps(char)[1:-1] if char in lacking else char for char in line) if lacking else line


if __name__ == "__main__":
    sys.stdin.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")  # type: ignore[union-attr]
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    copy_lines(sys.stdin, sys.argv[1], sys.stdout)
