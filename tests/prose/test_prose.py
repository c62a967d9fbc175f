"""Counts patterns of unclear English in code, messages and documents; no count may rise.

When the test fails, reword the places that it lists, or paste the table that it prints over `BUDGETS`.
"""

import ast
import random
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from io import StringIO
from itertools import chain
from pathlib import Path

import pytest

from tests.support.seeds import SEED
from tests.support.source_texts import comments, docstrings

ROOT = Path(__file__).parents[2]
PATTERNS = {
    "told, tells": r"\b(told|tells?|telling)\b",
    "What ...": r"^(What|That|SQL: that) (?!.*\?)",  # not a question
    "none": r"(?<!['|])(?<!\| )(?<!: )\bnone\b(?! over)",  # not a value
    "that one": r"\b(that|this|an? \w+|the) one\b",
    "Of x, y": r"(^|[.;:] )Of [a-z]",
    "nobody": r"\b(nobody|somebody|whoever|anybody)\b",
    "so many": r"\bso (many|long|often|much)\b",
    "beside": r"\bbeside\b",
    "is there.": r"\b(there|here)[.,;]",
    "stand": r"\bst(and|ands|ood)\b(?!-in)",
    ", for it": r", for (it|they|that|the|no)\b",
    "behind": r"\bbehind\b(?! (a proxy|the clock|this host))",
    "Those": r"(^|[.;:] )Those\b",
    "lest": r"\b(lest|likewise|perhaps|anew)\b",
    "The same": r"^The same\b",
    "goes by": r"\bgo(es)? by\b",
    "its begin": r"\b(the|its|a) begin\b",
}
AREAS = {
    "pipeline": "pipeline",
    **dict.fromkeys(("command_line", "http_server", "kafka_access", "producers", "schemas"), "producers"),
    **dict.fromkeys(("benchmarks", "demo", "dev"), "tools"),
    "tests": "tests",
}
DOCUMENTS = ("*.md", "docs/**/*.md", "*/README.md", "deploy/*/README.md")
COLUMNS = ("pipeline", "producers", "tools", "tests", "messages", "docs", "decisions")
BUDGETS = """\
               pipeline  producers      tools      tests   messages       docs  decisions
told, tells           0          0          0          0          0          0          0
What ...              0          0          0          0          0          0          0
none                  0          0          0          0          0          0          0
that one              0          0          0          0          0          0          0
Of x, y               0          0          0          0          0          0          0
nobody                0          0          0          0          0          0          0
so many               0          0          0          0          0          0          0
beside                0          0          0          0          0          0          0
is there.             0          0          0          0          0          0          0
stand                 0          0          0          0          0          0          0
, for it              0          0          0          0          0          0          0
behind                0          0          0          0          0          0          0
Those                 0          0          0          0          0          0          0
lest                  0          0          0          0          0          0          0
The same              0          0          0          0          0          0          0
goes by               0          0          0          0          0          0          0
its begin             0          0          0          0          0          0          0
"""
SQL = re.compile(r"\b(SELECT|FROM|WHERE|AND|JOIN|CAST|COALESCE)\b")


def code_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yields the area and the text of each docstring, comment, message of shipped code and name of a test."""
    source, area = path.read_text(), AREAS[path.relative_to(ROOT).parts[0]]
    yield from ((area, text) for text in (*comments(source), *docstrings(source)))
    if area in ("pipeline", "producers"):
        yield from (("messages", text) for text in messages(ast.parse(source)))
    yield from ((area, name.replace("_", " ")) for name in re.findall(r"^ *def (test_\w+)", source, re.MULTILINE))


def messages(tree: ast.Module) -> Iterator[str]:
    """Yields the texts of a module that have three words or more, except its docstrings and SQL."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Expr | ast.Constant)]
    statements = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in statements:
            text = node.value
            if text.count(" ") > 1 and not SQL.search(text):
                yield text


def texts() -> Iterator[tuple[Path, str, str]]:
    """Yields the path, the area and the text of all that people read."""
    for package in AREAS:
        for path in (ROOT / package).rglob("*.py"):
            yield from ((path, area, text) for area, text in code_texts(path))
    for path in chain.from_iterable(ROOT.glob(name) for name in DOCUMENTS):
        area = "decisions" if path.parent.name == "decisions" else "docs"
        yield path, area, re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)


def paragraphs(text: str) -> Iterator[str]:
    """Yields each paragraph, item of a list or row of a table in one line."""
    for paragraph in re.split(r"\n\s*\n|\n\s*(?:[-*|]|\d+\.) ", re.sub(r"`[^`]*`|\]\([^)]*\)", "``", text)):
        yield " ".join(paragraph.split())


def matches() -> dict[tuple[str, str], list[str]]:
    """Returns the places by pattern and area."""
    places, lines = defaultdict(list), defaultdict[str, list[tuple[Path, str]]](list)
    for path, area, text in texts():
        lines[area] += ((path, line) for line in paragraphs(text))
    for area, paths in lines.items():
        joined = "\n".join(line for _, line in paths)
        for name, pattern in PATTERNS.items():
            for match in re.finditer(pattern, joined, re.MULTILINE):
                path, line = paths[joined.count("\n", 0, match.start())]
                start = match.start() - joined.rfind("\n", 0, match.start()) - 1
                around = line[max(start - 30, 0) : start + len(match[0]) + 30]
                places[name, area].append(f"{path.relative_to(ROOT)}: {around}")
    return places


def unescaped(text: str) -> str:
    """Returns a text without its escapes, or what they mean: each is one of these, which may not be in the other."""
    return re.sub(r"\\.|[\x00-\x1f\x7f-\uffff\\]", "", text)


@pytest.mark.parametrize("count", [20, pytest.param(None, marks=pytest.mark.slow)], ids=["some", "all"])
def test_docstrings_and_comments_are_found_without_parsing(count: int | None) -> None:
    paths = [path for package in AREAS for path in (ROOT / package).rglob("*.py")]
    for path in random.Random(SEED).sample(paths, count or len(paths)):
        source = path.read_text()
        statements = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr)]
        texts = [node.value for node in statements if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        assert sorted(map(unescaped, docstrings(source))) == sorted(map(unescaped, texts)), path
        tokens = tokenize.generate_tokens(StringIO(source).readline)
        written = [token.string for token in tokens if token.type == tokenize.COMMENT]
        assert [line for text in comments(source) for line in text.split("\n")] == [
            re.sub("^#:?", "", text) for text in written
        ], path


@pytest.mark.slow
def test_counts_of_unclear_english_equal_their_budgets() -> None:
    places = matches()
    rows = {name: [len(places[name, area]) for area in COLUMNS] for name in PATTERNS}
    table = [f"{'':12}" + "".join(f"{area:>11}" for area in COLUMNS)]
    table += [f"{name:12}" + "".join(f"{count:11}" for count in counts) for name, counts in rows.items()]
    budgets = {line[:12].strip(): [int(count) for count in line[12:].split()] for line in BUDGETS.splitlines()[1:]}
    above = [
        place
        for name, counts in rows.items()
        for area, count, budget in zip(COLUMNS, counts, budgets.get(name, [0] * len(COLUMNS)), strict=True)
        for place in sorted(places[name, area])
        if count > budget
    ]
    advice = ["Reword these:", *above] if above else ["Lower the budgets to the counts:"]
    assert rows == budgets, "\n".join([*advice, "", *table])
