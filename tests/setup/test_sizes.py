"""Files and functions are small, as CONTRIBUTING says."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (
    *("benchmarks", "command_line", "demo", "dev", "http_server", "kafka_access"),
    *("pipeline", "producers", "schemas", "tests"),
)
LINES_OF_A_FILE = 300
LINES_OF_A_FUNCTION = 40
TOO_LONG = {
    "pipeline/settings/model.py",
    "tests/metrics/test_observer.py",
    "tests/producers/access_log/test_following.py",
}
"""Known exceptions. A file or function that has become shorter leaves this set."""


def too_long() -> Iterator[str]:
    """Yields the files with too many lines, and the functions with the file that each is in."""
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        source, name = path.read_text(), path.relative_to(ROOT).as_posix()
        if source.count("\n") > LINES_OF_A_FILE:
            yield name
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > LINES_OF_A_FUNCTION:
                    yield f"{name}: {node.name}"


def test_no_file_and_no_function_is_too_long_but_for_known_exceptions() -> None:
    assert set(too_long()) == TOO_LONG
