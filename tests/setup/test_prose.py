"""Counts patterns of unclear English in code, messages and documents; no count may rise.

When the test fails, reword the places that it lists, or paste the table that it prints over `BUDGETS`.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

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
TEXTS_AND_COMMENTS = re.compile(r'(?s:""".*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|(#.*(?:\n[ \t]*#.*)*)')
SQL = re.compile(r"\b(SELECT|FROM|WHERE|AND|JOIN|CAST|COALESCE)\b")


def code_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yields the area and the text of each docstring, comment, message of shipped code and name of a test."""
    source, area, docstrings = path.read_text(), AREAS[path.relative_to(ROOT).parts[0]], set()
    for comment in TEXTS_AND_COMMENTS.finditer(source):
        if comment[1]:
            yield area, re.sub(r"^[ \t]*#:?", "", comment[1], flags=re.MULTILINE)
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(ast.Constant(str(text)) as docstring):
                docstrings.add(docstring)
                yield area, text
            case ast.Constant(str(text)) if (
                area in ("pipeline", "producers") and node not in docstrings and not SQL.search(text)
            ):
                yield "messages", text if text.count(" ") > 1 else ""
            case ast.FunctionDef(name) if name.startswith("test_"):
                yield area, name.replace("_", " ")
            case _:
                pass


def texts() -> Iterator[tuple[Path, str, str]]:
    """Yields the path, the area and the text of all that people read."""
    for package in AREAS:
        for path in (ROOT / package).rglob("*.py"):
            yield from ((path, area, text) for area, text in code_texts(path))
    for path in chain.from_iterable(ROOT.glob(name) for name in DOCUMENTS):
        area = "decisions" if path.parent.name == "decisions" else "docs"
        yield path, area, re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)


def matches() -> dict[tuple[str, str], list[str]]:
    """Returns the places by pattern and area. A paragraph, an item of a list or a row of a table is one text."""
    places = defaultdict(list)
    for path, area, text in texts():
        for paragraph in re.split(r"\n\s*\n|\n\s*(?:[-*|]|\d+\.) ", re.sub(r"`[^`]*`|\]\([^)]*\)", "``", text)):
            line = " ".join(paragraph.split())
            for name, pattern in PATTERNS.items():
                for match in re.finditer(pattern, line):
                    around = line[max(match.start() - 30, 0) : match.end() + 30]
                    places[name, area].append(f"{path.relative_to(ROOT)}: {around}")
    return places


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
