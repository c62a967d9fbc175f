"""Finds tests that judge by seconds, and so fail on a slow or busy machine."""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

LEAST_S: Final = 60
"""The shortest limit that only a hang reaches."""
_CLOCKS: Final = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time", "time_ns", "now", "today"}
_LIMITED: Final = {
    **dict.fromkeys(("wait", "join", "result", "flush", "settimeout", "set_default_timeout", "exception"), 0),
    **dict.fromkeys(("create_connection", "communicate"), 1),
    "urlopen": 2,
}
"""Calls, and the position of the argument that is their limit. `wait_for` has a shortest limit of its own."""
_KEYWORDS: Final = {"timeout", "timeout_s", "timeout_seconds"}
_OF_BROWSERS: Final = re.compile(r"(not_)?to_\w+|wait_for_\w+|goto|click|fill|press|launch|set_default_timeout")
"""Playwright's methods, whose limits are milliseconds."""
_POLLS: Final = {"consume", "poll", "acquire"}
"""Calls that return without a result at their limit, so that a loop calls them again."""


class Finding(NamedTuple):
    """A line of a test, and what is wrong with it."""

    line: int
    sentence: str


def findings(source: str) -> list[Finding]:
    """Returns the places of a Python file where a test judges by seconds, in order."""
    tree = ast.parse(source)
    constants, spans = dict(_constants(tree)), _names_of_spans(tree)
    found = set[Finding]()
    for node in ast.walk(tree):
        match node:
            case ast.Call():
                sentences = _of_call(node, constants)
            case ast.Compare():
                sentences = _of_comparison(node, spans)
            case ast.If(test, body) if _has_clock(test) and any(_is_skip(each) for each in _within(body)):
                sentences = iter(["skips by the clock: a test runs or has no component, at any time of day"])
            case ast.Constant(str(text)) if re.search(r"\btime\.sleep\(", text):
                sentences = iter(["sleeps in a script: let the script wait for a condition"])
            case _:
                continue
        found |= {Finding(node.lineno, sentence) for sentence in sentences}
    return sorted(found)


def _of_call(call: ast.Call, constants: Mapping[str, float]) -> Iterator[str]:
    name = _name(call.func)
    if (name == "sleep" and not _is_zero(call)) or name == "wait_for_timeout":
        yield "sleeps: wait for a condition with tests.support.waiting.wait_for, or move a clock"
    if name == "lives_for" and _number(call.args[0] if call.args else None, constants) is not None:
        yield "waits for seconds in which nothing may happen: wait for a condition that comes afterwards instead"
    if name == "timeout" and isinstance(call.func, ast.Attribute) and _name(call.func.value) == "mark":
        yield "sets a limit of its own for a test: pyproject.toml has one for all, which only a hang reaches"
    if _is_skip(call) and any(_has_clock(each) for each in (*call.args, *(each.value for each in call.keywords))):
        yield "skips by the clock: a test runs or has no component, at any time of day"
    if name not in _POLLS:
        yield from _of_limit(call, name, constants)


def _of_limit(call: ast.Call, name: str, constants: Mapping[str, float]) -> Iterator[str]:
    limits = [each.value for each in call.keywords if each.arg in _KEYWORDS]
    if name in _LIMITED:
        limits += call.args[_LIMITED[name] :][:1]
    unit = 1000 if _OF_BROWSERS.fullmatch(name) else 1
    for limit in limits:
        number = _number(limit, constants)
        if number is not None and 0 < number < LEAST_S * unit:
            yield (
                f"{name} fails after {number / unit:g} s, which a slow machine may need: "
                "wait for tests.support.waiting.PATIENCE_S"
            )


def _of_comparison(comparison: ast.Compare, spans: set[str]) -> Iterator[str]:
    sides = (comparison.left, *comparison.comparators)
    if any(_is_span(side) or (isinstance(side, ast.Name) and side.id in spans) for side in sides):
        yield "compares a duration: count steps or calls, or let the test own the clock"
    elif any(isinstance(side, ast.Call) and _name(side.func) in ("monotonic", "perf_counter") for side in sides):
        yield "waits until a deadline of its own: use tests.support.waiting.wait_for"


def _constants(tree: ast.Module) -> Iterator[tuple[str, float]]:
    """Yields the numbers that a module names."""
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                number = _number(value, {})
                if number is not None:
                    yield name, number


def _names_of_spans(tree: ast.Module) -> set[str]:
    """Returns the variables that hold the difference of two readings of a clock."""
    assigned = (node for node in ast.walk(tree) if isinstance(node, ast.Assign) and _is_span(node.value))
    return {target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)}


def _is_span(node: ast.AST) -> bool:
    """Returns whether an expression is the time since a reading of a clock."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _is_clock(node.left)


def _is_clock(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) in _CLOCKS


def _has_clock(node: ast.AST) -> bool:
    return any(_is_clock(each) for each in ast.walk(node))


def _within(body: list[ast.stmt]) -> Iterator[ast.AST]:
    for statement in body:
        yield from ast.walk(statement)


def _is_skip(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) in ("skip", "skipif")


def _is_zero(call: ast.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0


def _name(node: ast.AST) -> str:
    """Returns the last part of a dotted name."""
    match node:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
        case _:
            return ""


def _number(node: ast.expr | None, constants: Mapping[str, float]) -> float | None:
    match node:
        case ast.Constant(int() | float() as number):
            return float(number)
        case ast.Name(name):
            return constants.get(name)
        case _:
            return None
