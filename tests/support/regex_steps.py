"""Counts what an expression does to a text: a backtracking matcher, as Python's is, that counts its steps."""

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Final

# Private, but the only parser whose expressions mean what `re` makes of them.
_PARSER: Final[Any] = import_module("re._parser")
_COMPILER: Final[Any] = import_module("re._compiler")

Node = tuple[Any, Any]
_SINGLE: Final = frozenset({"ANY", "IN", "LITERAL", "NOT_LITERAL"})
"""Nodes that match one character."""
_BOUNDARY: Final = re.compile(r"\b")


def regex_steps(pattern: re.Pattern[str], method: str, text: str) -> int:
    """Returns how many characters `pattern` looks at, counting each look, when its `method` is called with `text`.

    >>> regex_steps(re.compile("a*b"), "match", "aaa")  # each "a", the end, and "b" in four places
    8
    """
    matcher = _Matcher(pattern, text)
    position = 0
    while position <= len(text):
        ends = matcher.ends(matcher.tree, position)
        is_whole = method == "fullmatch"
        end = next((end for end in ends if not is_whole or end == len(text)), None)
        if method in ("match", "fullmatch") or (method == "search" and end is not None):
            break
        position = max(position + 1, end or 0)
    return matcher.steps


class _Matcher:
    """Matches parts of a parsed expression at positions of a text; each yields its ends in the order of `re`."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self.tree: list[Node] = list(_PARSER.parse(pattern.pattern, pattern.flags))
        self.steps = 0
        self._flags, self._text = pattern.flags, text
        self._singles: dict[int, re.Pattern[str]] = {}

    def ends(self, nodes: Sequence[Node], start: int) -> Iterator[int]:
        if not nodes:
            yield start
            return
        for middle in self._node(nodes[0], start):
            yield from self.ends(nodes[1:], middle)

    def _node(self, node: Node, start: int) -> Iterator[int]:
        name, argument = str(node[0]), node[1]
        if name in _SINGLE:
            return self._single(node, start)
        ends: Iterator[int] = getattr(self, f"_{name.lower()}")(argument, start)
        return ends

    def _single(self, node: Node, start: int) -> Iterator[int]:
        self.steps += 1
        single = self._singles.get(id(node))
        if single is None:
            parsed = _PARSER.SubPattern(_PARSER.State(), [node])
            single = self._singles[id(node)] = _COMPILER.compile(parsed, self._flags)
        if match := single.match(self._text, start, start + 1):
            yield match.end()

    def _at(self, where: Any, start: int) -> Iterator[int]:
        self.steps += 1
        boundary = start if _BOUNDARY.match(self._text, start) else -1
        if start == {"AT_BEGINNING": 0, "AT_END": len(self._text), "AT_BOUNDARY": boundary}[str(where)]:
            yield start

    def _branch(self, argument: Any, start: int) -> Iterator[int]:
        for branch in argument[1]:
            yield from self.ends(branch, start)

    def _subpattern(self, argument: Any, start: int) -> Iterator[int]:
        return self.ends(argument[-1], start)

    def _max_repeat(self, argument: Any, start: int) -> Iterator[int]:
        least, most, item = argument
        path = [(start, self.ends(item, start))]
        while path:
            position, following = path[-1]
            end = next(following, position) if len(path) <= most else position
            if end != position:
                path.append((end, self.ends(item, end)))
                continue
            path.pop()
            if len(path) >= least:
                yield position

    def _min_repeat(self, argument: Any, start: int) -> Iterator[int]:
        least, most, item = argument
        path = [self.ends([], start)]
        while path:
            end = next(path[-1], None)
            if end is None:
                path.pop()
                continue
            if len(path) > least:
                yield end
            if len(path) <= most:
                path.append(self.ends(item, end))

    def _possessive_repeat(self, argument: Any, start: int) -> Iterator[int]:
        yield from [*self._first(self._max_repeat(argument, start))]

    def _atomic_group(self, argument: Any, start: int) -> Iterator[int]:
        yield from self._first(self.ends(argument, start))

    def _assert_not(self, argument: Any, start: int) -> Iterator[int]:
        if not list(self._assert(argument, start)):
            yield start

    def _assert(self, argument: Any, start: int) -> Iterator[int]:
        direction, item = argument
        origin = start if direction > 0 else start - item.getwidth()[0]
        if origin >= 0:
            yield from (start for _ in self._first(self.ends(item, origin)))

    @staticmethod
    def _first(ends: Iterator[int]) -> Iterator[int]:
        yield from (end for end, _ in zip(ends, range(1), strict=False))
