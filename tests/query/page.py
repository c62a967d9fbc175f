"""The code blocks of docs/queries.md and other pages for readers."""

import re
from collections.abc import Mapping
from pathlib import Path

_DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def sections_of(page: str) -> dict[str, str]:
    """Returns the sections of a page by their titles."""
    parts = re.split(r"^## ", (_DOCS / page).read_text(), flags=re.MULTILINE)[1:]
    return {part.splitlines()[0]: part for part in parts}


SECTIONS = sections_of("queries.md")


def blocks(section: str, language: str, sections: Mapping[str, str] = SECTIONS) -> list[str]:
    """Returns the code blocks of `section` in `language`, in order."""
    return [block for found, block in _BLOCK.findall(sections[section]) if found == language]


def block_of(section: str, language: str = "python", sections: Mapping[str, str] = SECTIONS) -> str:
    """Returns the only block of `section` in `language`."""
    (block,) = blocks(section, language, sections)
    return block
