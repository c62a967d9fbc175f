"""The blocks of docs/queries.md."""

import re
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "queries.md"
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
SECTIONS = {
    text.splitlines()[0]: text for text in re.split(r"^## ", _PAGE.read_text(), flags=re.MULTILINE)[1:]
}  # by their titles


def blocks(section: str, language: str) -> list[str]:
    """Those of a language, in order."""
    return [block for found, block in _BLOCK.findall(SECTIONS[section]) if found == language]


def block_of(section: str) -> str:
    """The only one that is Python."""
    (block,) = blocks(section, "python")
    return block
