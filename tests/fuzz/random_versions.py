"""Random versions of a schema, with events and what must be read of them.

Each version has the fields of a record in another order, lacks some and renames others, widens numbers, and gives its
types names that another version has for other types.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from random import Random
from typing import Any, Final

from tests.support.folded import NOW

SIMPLE: Final[dict[str, tuple[Any, ...]]] = {
    "number": (-1, 0, 77), "text": ("", "ann", "ä"), "truth": (True, False), "bytes": (b"", b"\1"),
    "fixed": (b"abc", b"\0\1\2"), "decimal": (Decimal("1.25"), Decimal("-0.01")), "moment": (NOW, 0),
}  # fmt: skip
"""The values of types without parts."""
BRANCHES: Final = ("number", "text", "truth", "bytes", "record", "record")
"""Types of a union; a value shows which of them it has. fastavro takes bytes for a list of numbers, too."""
SYMBOLS: Final = ("a", "b", "c", "d")
Make = Callable[[], tuple[Any, Any]]
"""Returns a random value as it is written, and as it must be read."""


@dataclass(eq=False)
class Kind:
    """A type in all versions."""

    name: str
    parts: list["Kind"] = field(default_factory=list)
    """The types of the items, values, branches or fields."""
    is_renamed: bool = False
    """Whether the fields of a record have another name in each version: they are found by their aliases."""


def random_kind(chance: Random, name: str = "", depth: int = 3, *, is_inside: bool = False) -> Kind:
    """Returns a type, of this name or any; if it `is_inside` of a list, map or union, no field is renamed."""
    name = name or chance.choice([*SIMPLE, "enum", *(("record", "list", "map", "union") * 2 if depth > 0 else ())])
    if name == "union":
        names = chance.sample(BRANCHES, chance.randrange(2, 5))
        return Kind(name, [random_kind(chance, branch, depth - 1, is_inside=True) for branch in names])
    if name == "record":
        parts = [random_kind(chance, "", depth - 1, is_inside=is_inside) for _ in range(chance.randrange(1, 4))]
        parts += [part for part in parts[:1] if part.name == "enum"]  # a type that is used by its name
        return Kind(name, parts, is_renamed=not is_inside and chance.random() < 0.5)
    if name in ("list", "map"):
        return Kind(name, [random_kind(chance, "", depth - 1, is_inside=True)])
    return Kind(name)


class Version:
    """One of `count` versions."""

    def __init__(self, chance: Random, index: int, count: int, event: Kind) -> None:
        """Takes the further fields of an event as a record."""
        self._chance, self._index, self._count = chance, index, count
        self._names = [f"T{name}" for name in chance.sample(range(1_000), 1_000)]
        self._defined: dict[Kind, tuple[Any, Make]] = {}
        schema, self._make = self._record(event)
        node = self._names.pop()
        users = [{"name": "id", "type": chance.choice(["string", ["null", "string"]])}, {"name": "x", "type": "double"}]
        others = [
            {"name": "who", "type": {"type": "record", "name": self._names.pop(), "fields": self._shuffled(users)}},
            {"name": "t", "type": "long"},
            {"name": "tree", "type": {"type": "record", "name": node, "fields": [
                {"name": "next", "type": ["null", node]}]}},
        ]  # fmt: skip
        for other in others:
            schema["fields"].insert(chance.randrange(len(schema["fields"]) + 1), other)
        self.schema = schema

    def event(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns an event as it is written, and its further fields as they must be read."""
        written, read = self._make()
        return written | {"who": {"id": "ann", "x": 0.5}, "t": NOW, "tree": {"next": {"next": None}}}, read

    def _shuffled(self, parts: list[Any]) -> list[Any]:
        return self._chance.sample(parts, len(parts))

    def _of(self, kind: Kind) -> tuple[Any, Make]:
        """Returns the type of a kind in this version, maybe in a union with null, and what makes its values."""
        avro, make = self._not_null(kind)
        if self._chance.random() < 0.6:
            return avro, make
        branches = avro if isinstance(avro, list) else [avro]
        at = self._chance.randrange(len(branches) + 1)
        return [*branches[:at], "null", *branches[at:]], lambda: (None, None) if self._chance.random() < 0.3 else make()

    def _not_null(self, kind: Kind) -> tuple[Any, Make]:
        chance, named = self._chance, {"name": self._names.pop()}
        match kind.name:
            case "record":
                return self._record(kind)
            case "union":
                return self._union(kind)
            case "list":
                items, make = self._of(kind.parts[0])
                return {"type": "array", "items": items}, lambda: _lists([make() for _ in range(chance.randrange(3))])
            case "map":
                values, make = self._of(kind.parts[0])
                return {"type": "map", "values": values}, lambda: _maps({key: make() for key in chance.sample("kl", 1)})
            case "enum":
                return self._enum(kind)
        avro: Any = {
            "number": chance.choice(["int", "long", "double"]),
            "text": "string",
            "truth": "boolean",
            "fixed": {"type": "fixed", "size": 3, **named},
            "decimal": {"type": "bytes", "logicalType": "decimal", "precision": chance.randrange(4, 9), "scale": 2},
            "moment": {"type": "long", "logicalType": "timestamp-millis"},
        }.get(kind.name, kind.name)
        values = [*SIMPLE[kind.name], *([2**40] if avro == "long" else [0.25] if avro == "double" else [])]
        return avro, lambda: _twice(chance.choice(values), kind.name)

    def _enum(self, kind: Kind) -> tuple[Any, Make]:
        if kind in self._defined:
            return self._defined[kind]
        symbols, name = self._chance.sample(SYMBOLS, self._chance.randrange(1, 5)), self._names.pop()
        self._defined[kind] = name, lambda: _twice(self._chance.choice(symbols))
        return {"type": "enum", "name": name, "symbols": symbols}, self._defined[kind][1]

    def _union(self, kind: Kind) -> tuple[Any, Make]:
        branches = [self._not_null(part) for part in kind.parts]

        def make() -> tuple[Any, Any]:
            index = self._chance.randrange(len(branches))
            avro, (written, read) = branches[index][0], branches[index][1]()
            hinted = (avro["name"], written) if kind.parts[index].name == "record" else written
            return hinted, {f"member{at}": read if at == index else None for at in range(len(branches))}

        return [avro for avro, _ in branches], make

    def _record(self, kind: Kind) -> tuple[Any, Make]:
        fields: list[dict[str, Any]] = []
        makes: dict[int, tuple[str, Make]] = {}
        for at in self._shuffled([*range(len(kind.parts))]):
            if at and self._index and self._chance.random() < 0.2:  # the first version has all fields
                continue
            avro, make = self._of(kind.parts[at])
            names = [f"f{at}_{index}" for index in range(self._count)] if kind.is_renamed else [f"f{at}"]
            name = names.pop(self._index if kind.is_renamed else 0)
            fields.append({"name": name, "aliases": names, "type": avro})
            makes[at] = name, make

        def make_all() -> tuple[Any, Any]:
            made = {at: (name, *make()) for at, (name, make) in makes.items()}
            return {name: written for name, written, _ in made.values()}, {f"f{at}": made[at][2] for at in made}

        return {"type": "record", "name": self._names.pop(), "fields": fields}, make_all


def is_same(read: Any, expected: Any) -> bool:
    """Returns whether a value of Spark is as expected; a field that a version lacks is null."""
    if isinstance(expected, dict) and isinstance(read, dict):
        plain = {name.partition("_")[0]: value for name, value in read.items()}
        return expected.keys() <= plain.keys() and all(is_same(plain[name], expected.get(name)) for name in plain)
    if isinstance(expected, list) and isinstance(read, list):
        return len(read) == len(expected) and all(map(is_same, read, expected))
    return bool(read == expected)


def _lists(items: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    return [written for written, _ in items], [read for _, read in items]


def _maps(items: dict[str, tuple[Any, Any]]) -> tuple[Any, Any]:
    return {key: written for key, (written, _) in items.items()}, {key: read for key, (_, read) in items.items()}


def _twice(value: Any, name: str = "") -> tuple[Any, Any]:
    return value, datetime.fromtimestamp(value / 1000) if name == "moment" else value  # noqa: DTZ006 - as Spark returns it
