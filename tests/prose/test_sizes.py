"""Files and functions are small, as CONTRIBUTING says."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.source_texts import code_lines

ROOT = Path(__file__).parents[2]
PACKAGES = (
    *("benchmarks", "command_line", "demo", "dev", "http_server", "kafka_access"),
    *("pipeline", "producers", "schemas", "tests"),
)
LINES_OF_A_FILE = 300
LINES_OF_A_FUNCTION = 40
TOO_LONG = {
    "pipeline/settings/model.py",
    "pipeline/tables/dictionary.py",
    "tests/metrics/test_observer.py",
    "tests/producers/access_log/test_following.py",
}
"""Known exceptions. A file or function that has become shorter leaves this set."""


def has_long_function(source: str) -> bool:
    """Returns whether lines of code suggest a function with too many lines, so that parsing is worth its time."""
    open_functions = list[tuple[int, int]]()
    for number, line in enumerate(code_lines(source)):
        code = line.lstrip()
        if not code or not (code[0].isalpha() or code[0] in "@_"):
            continue
        while open_functions and open_functions[-1][0] >= len(line) - len(code):
            if number - open_functions.pop()[1] > LINES_OF_A_FUNCTION:
                return True
        if code.startswith(("def ", "async def ")):
            open_functions.append((len(line) - len(code), number))
    return any(source.count("\n") - first >= LINES_OF_A_FUNCTION for _, first in open_functions)


def too_long() -> Iterator[str]:
    """Yields the files with too many lines, and the functions with the file that each is in."""
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        source, name = path.read_text(), path.relative_to(ROOT).as_posix()
        if source.count("\n") > LINES_OF_A_FILE:
            yield name
        for node in ast.walk(ast.parse(source)) if has_long_function(source) else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > LINES_OF_A_FUNCTION:
                    yield f"{name}: {node.name}"


def test_no_file_and_no_function_is_too_long_but_for_known_exceptions() -> None:
    assert set(too_long()) == TOO_LONG


HEAD = "class A:\n    def a(\n        self,\n    ) -> C:\n"


@pytest.mark.parametrize(
    ("source", "is_long"),
    [
        ("def a():\n" + 40 * "    b\n", True),
        (HEAD + 38 * "        b\n" + "d = 1\n", True),
        (HEAD + 36 * "        b\n" + "d = 1\n", False),
        ('def a():\n    c = """\n' + 40 * "def b():\n" + '"""\n\n\ndef d():\n    pass\n', True),
        ("def a():\n    def c():\n" + 20 * "        b\n" + "    def d():\n" + 20 * "        b\n", True),
        ("def a():\n" + 30 * "    b\n" + "\n\nc = (\n" + 50 * "    b,\n" + ")\n", False),
    ],
)
def test_a_file_with_a_function_that_is_too_long_is_parsed(source: str, is_long: bool) -> None:
    assert has_long_function(source) == is_long
