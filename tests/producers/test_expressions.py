"""Expressions match the same on every supported Python: CPython before 3.11.5 has faults in possessive groups."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tidemark.producers.session_ids import without_session_ids

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("command_line", "demo", "dev", "http_server", "kafka_access", "pipeline", "producers", "schemas")
POSSESSIVE_GROUP: Final = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")


def possessive_groups(source: str) -> Iterator[str]:
    """Yields the texts of Python code in which a group, and not only a character, is possessive or atomic."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and POSSESSIVE_GROUP.search(node.value):
            yield node.value


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.slow
def test_no_group_is_possessive(package: str) -> None:
    files = [*(ROOT / package).rglob("*.py")]
    assert files
    assert {path.name: groups for path in files if (groups := [*possessive_groups(path.read_text())])} == {}


@pytest.mark.parametrize(
    ("expression", "is_group"),
    [("(?:a b*+)*+", True), ("(a){2,}+", True), ("(?>a)", True), ("[^ ]*+(?:,)*", False), (r"\)*+", False)],
)
def test_a_possessive_group_is_recognised(expression: str, is_group: bool) -> None:
    assert [*possessive_groups(f"rf'{{end}}{expression.replace('{', '{{').replace('}', '}}')}'")] == (
        [expression] if is_group else []
    )


@pytest.mark.parametrize("path", ["/(S(x)S%29", "/A/%28S(x)A%29/(S(x)%29=S(x)"])
def test_a_segment_that_only_begins_like_a_session_id_is_part_of_the_page(path: str) -> None:
    assert without_session_ids(path) == path
