"""Makes answers of DuckDB's shell harmless to terminals and spreadsheets. Also runs as the shell's pager."""

import csv
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Final

from command_line.printable import printable

_FORMULA: Final = re.compile(r"[=+\-@]")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class _Echo:
    """A file whose `write` returns its argument, which `csv.writer` then returns."""

    def write(self, text: str) -> str:
        return text


def harmless_lines(lines: Iterable[str], form: str) -> Iterator[str]:
    """Yields the lines of an answer in a format of `tidemark sql`, with characters that are not printed as escapes.

    JSON keeps its values. A cell of CSV that a spreadsheet would take for a formula begins with an apostrophe.
    """
    match form:
        case "csv":
            csv.field_size_limit(sys.maxsize)
            write = csv.writer(_Echo(), lineterminator="\n").writerow
            yield from (str(write(map(_cell, row))) for row in csv.reader(lines))
        case "json":
            yield from (_json(line.rstrip("\n")) + "\n" for line in lines)
        case _:
            yield from (printable(line.rstrip("\n")) + "\n" for line in lines)


def copy_lines(lines: IO[str], form: str, out: IO[str]) -> None:
    """Writes each line as soon as it is read; stops when the reader has closed `out`."""
    try:
        for line in harmless_lines(lines, form):
            out.write(line)
            out.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # so that Python's last flush does not fail


def _cell(text: str) -> str:
    said = printable(text)
    return f"'{said}" if _FORMULA.match(said) and not _NUMBER.fullmatch(said) else said


def _json(line: str) -> str:
    """Returns the line with escapes of JSON, which keep its values."""
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


if __name__ == "__main__":
    sys.stdin.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")  # type: ignore[union-attr]
    copy_lines(sys.stdin, sys.argv[1], sys.stdout)
