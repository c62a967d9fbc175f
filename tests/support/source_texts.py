"""Finds the comments, docstrings and code of a module without parsing it, which takes twenty times as long."""

import re
from collections.abc import Iterator
from typing import Final

_TEXT_OR_COMMENT: Final = re.compile(r'(?s:""".*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|(#.*(?:\n[ \t]*#.*)*)')
_CONTINUES: Final = re.compile(r"^[^#\n]*[(\[{,=+|\\]$")


def comments(source: str) -> Iterator[str]:
    """Yields the comments of a module; those of adjacent lines are one."""
    for match in _TEXT_OR_COMMENT.finditer(source):
        if match[1]:
            yield re.sub(r"^[ \t]*#:?", "", match[1], flags=re.MULTILINE)


def docstrings(source: str) -> Iterator[str]:
    """Yields the texts that are statements of their own, as `ruff format` writes them."""
    for match in _TEXT_OR_COMMENT.finditer(source):
        if match[0].startswith('"""'):
            line, end = source.rfind("\n", 0, match.start()) + 1, source.find("\n", match.end())
            before = source[:line].rstrip().rpartition("\n")[2]
            after = source[match.end() : end].partition("#")[0].strip()
            if source[line : match.start()].strip() in ("", "r") and not after and not _CONTINUES.match(before):
                yield match[0][3:-3]


def code_lines(source: str) -> list[str]:
    """Returns the lines of a module, with nothing in the place of texts and comments."""
    return _TEXT_OR_COMMENT.sub(lambda match: "\n" * match[0].count("\n"), source).split("\n")
