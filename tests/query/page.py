"""The code blocks of docs/queries.md."""

import re
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "queries.md"
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
SECTIONS = {part.splitlines()[0]: part for part in re.split(r"^## ", _PAGE.read_text(), flags=re.MULTILINE)[1:]}
"""The sections of the page by their titles."""


def blocks(section: str, language: str) -> list[str]:
    """Returns the code blocks of `section` in `language`, in order."""
    return [block for found, block in _BLOCK.findall(SECTIONS[section]) if found == language]


def block_of(section: str, language: str = "python") -> str:
    """Returns the only block of `section` in `language`."""
    (block,) = blocks(section, language)
    return block
