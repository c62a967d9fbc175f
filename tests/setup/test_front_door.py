"""The package exports its front door, and no more."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tidemark
from dev.python_page import PAGE, with_interface
from tests.deploy.files import commands_of, section_of
from tidemark.pipeline.settings.model import Settings

README = Path(__file__).parents[2] / "README.md"
OWN_TOPIC = section_of(README.parent / "docs" / "start.md", "Your own topic")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""Matches a code block: its language and its text."""


def blocks(text: str, language: str = "") -> list[str]:
    """Returns the code blocks of a text in a language, or without any."""
    return [block for found, block in BLOCK.findall(text) if found == language]


def settings_in(text: str) -> str:
    """Returns the only settings file in a text."""
    (settings,) = blocks(text, "toml")
    return settings


def test_the_front_door_is_sorted_and_every_name_is_there() -> None:
    assert tidemark.__all__ == sorted(tidemark.__all__)
    assert all(callable(getattr(tidemark, name)) for name in tidemark.__all__)


def test_it_has_nothing_else() -> None:
    with pytest.raises(AttributeError, match="no attribute 'close_service'"):
        _ = tidemark.close_service


def test_its_documents_are_its_docstrings() -> None:
    assert PAGE.read_text() == with_interface(PAGE.read_text()), "make pages"
    assert all(f"`{name}" in PAGE.read_text() for name in tidemark.__all__)


def test_the_readme_goes_in_by_it() -> None:
    for name in tidemark.__all__:
        assert re.search(rf"from tidemark import .*\b{name}\b", README.read_text()), name


def test_the_first_forty_lines_of_the_readme_lead_from_the_wheel_to_a_query() -> None:
    first = README.read_text().splitlines()[:40]
    commands = [line for line in first if re.match("pip install|tidemark ", line)]
    assert [command.split()[:2] for command in commands] == [
        ["pip", "install"],
        ["tidemark", "check"],
        ["tidemark", "run"],
        ["tidemark", "sql"],
    ]
    text = settings_in(README.read_text())
    assert text.count("\n") == 12
    assert text in "\n".join(first)
    assert Settings(**tomllib.loads(text)).schemas.registry.url
    played = tomllib.loads(settings_in(OWN_TOPIC))
    assert Settings(**played).schemas.folder
    assert played["schemas"]["mapping"] == tomllib.loads(text)["schemas"]["mapping"]


def test_the_readme_shows_a_query_and_its_result_that_are_tested() -> None:
    readme = README.read_text()
    (query,) = [words for words in commands_of(readme) if words[:2] == ["tidemark", "sql"]]
    assert query in commands_of(OWN_TOPIC)
    assert set(blocks(OWN_TOPIC)) & set(blocks(readme))


def test_the_front_door_does_not_import_spark() -> None:
    code = "import sys, tidemark; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
