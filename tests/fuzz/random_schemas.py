"""Random Avro schemas of others, their versions, events and mappings."""

import json
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from tidemark.schemas.fields import EventFields

NAMES: Final = ("a", "b", "A", "value", "key", "time", "user_id", "event", "id", "int", "skipped", "x_1")
PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
LOGICAL: Final = (
    {"type": "int", "logicalType": "date"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "string", "logicalType": "uuid"},
    {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
    {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"},
    {"type": "string", "logicalType": 7},
)
USERS: Final = ("string", "long", ["null", "string"], {"type": "string", "avro.java.string": "String"}, ["null", "int"])
TIMES: Final = (
    "long",
    "int",
    "double",
    {"type": "long", "logicalType": "timestamp-micros"},
    ["null", "long"],
    "string",
)


@dataclass
class Random:
    """Draws parts of schemas; keeps the names of the types that were defined."""

    draw: Any
    defined: list[str]
    definitions: dict[str, Any]

    def kind(self, depth: int = 2) -> Any:
        """Returns a type."""
        names = ["name"] if self.defined else []
        parts = ["union", "array", "map", "record"] if depth else []
        kind = self.draw(st.sampled_from(["primitive", "attributes", "logical", "enum", "fixed", *names, *parts]))
        if kind in ("record", "enum", "fixed"):
            return self._named(kind, depth)
        if kind == "union":
            kinds = [self.kind(depth - 1) for _ in range(self.draw(st.integers(1, 3)))]
            return [*{json.dumps(branch): branch for branch in kinds if not isinstance(branch, list)}.values()]
        if kind in ("array", "map"):
            return {"type": kind, "items" if kind == "array" else "values": self.kind(depth - 1)}
        primitive = self.draw(st.sampled_from(PRIMITIVES))
        return {
            "primitive": primitive,
            "attributes": {"type": primitive, "doc": "x", "connect.name": "a.b-c"},
            "logical": self.draw(st.sampled_from(LOGICAL)),
            "name": self.draw(st.sampled_from(self.defined or ["null"])),
        }[kind]

    def _named(self, kind: str, depth: int) -> dict[str, Any]:
        name = f"{self.draw(st.sampled_from(('n', 'm.o')))}.T{len(self.definitions)}"
        schema: dict[str, Any] = {"type": kind, "name": name}
        self.definitions[name] = schema
        if kind == "record":
            self.defined.append(name)  # a record may contain itself
            names = self.draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
            schema["fields"] = [{"name": field, "type": self.kind(depth - 1)} for field in names]
            return schema
        schema |= {"size": 2} if kind == "fixed" else {"symbols": ["p", "q", "unknown"]}
        self.defined.append(name)
        return schema

    def value(self, kind: Any, depth: int = 6) -> Any:
        """Returns a value of a type. Raises RecursionError if it has no small value."""
        if depth < 0:
            raise RecursionError
        if isinstance(kind, list):
            branches = ["null"] if "null" in kind and depth < 3 else kind
            branch = self.draw(st.sampled_from(branches or ["null"]))
            return self.value(branch, depth - 1)
        kind = self.definitions.get(kind, kind) if isinstance(kind, str) else kind
        name = kind if isinstance(kind, str) else kind["type"]
        if name == "record":
            return {field["name"]: self.value(field["type"], depth - 1) for field in kind["fields"]}
        if name in ("array", "map"):
            some = {"k": self.value(kind["items" if name == "array" else "values"], depth - 1)}
            some = some if self.draw(st.booleans()) else {}
            return some if name == "map" else [*some.values()]
        return self.draw(st.sampled_from(kind["symbols"] if name == "enum" else VALUES[name]))


VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "null": (None,), "boolean": (True, False), "int": (0, -1, 77), "long": (0, 2**40), "float": (0.5,),
    "double": (0.25,), "bytes": (b"", b"\1"), "string": ("", "ann", "ä"), "fixed": (b"\1\2",),
}  # fmt: skip


@st.composite
def topics(draw: Any) -> tuple[dict[int, Any], dict[int, Any], EventFields, str]:
    """Returns versions of a schema by id, an event of each, a mapping of fields, and the words of a condition."""
    random = Random(draw, [], {})
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    fields = [
        {"name": "u", "type": draw(st.sampled_from(USERS))},
        {"name": "t", "type": draw(st.sampled_from(TIMES))},
        *({"name": name, "type": random.kind()} for name in names),
    ]
    versions: dict[int, Any] = {7: draw(st.permutations(fields))}
    events = {7: _event(random, versions[7])}
    for schema_id in range(8, 8 + draw(st.integers(0, 1))):
        random = Random(draw, [], {})
        versions[schema_id] = _changed(random, versions[7])
        events[schema_id] = _event(random, versions[schema_id])
    mapping = EventFields(
        user=draw(st.sampled_from(("u", "u", "u", "a", "a.b", "value"))),
        time="t",
        kind=draw(st.sampled_from(("", "", "a"))),
        time_unit=draw(st.sampled_from((None, None, "s", "iso"))),
    )
    words = " = ".join(draw(st.lists(st.sampled_from((*NAMES, "renamed")), max_size=3)))
    schemas = {
        schema_id: {"type": "record", "name": "E", "namespace": "n", "fields": version}
        for schema_id, version in versions.items()
    }
    return schemas, events, mapping, words


def _event(random: Random, fields: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Returns an event; None if there is no small event."""
    try:
        return {field["name"]: random.value(field["type"]) for field in fields}
    except RecursionError:
        return None


def _changed(random: Random, fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns a later version: a field is renamed, has another type, is new or missing."""
    kept: list[dict[str, Any]] = [field for field in fields if _is_simple(field["type"])]
    last = random.draw(st.sampled_from(kept))
    others = [field for field in kept if field is not last]
    match random.draw(st.sampled_from(("rename", "retype", "drop", "add"))):
        case "rename":
            return [*others, {**last, "name": "renamed", "aliases": [last["name"]]}]
        case "retype":
            return [{**last, "type": random.kind()}, *others]
        case "drop":
            return others
        case _:
            return [{"name": "added", "type": random.kind()}, *kept]


def _is_simple(kind: Any) -> bool:
    """Returns whether a type has no names, which another version would have to define."""
    return not any(mark in json.dumps(kind) for mark in ("n.T", "m.o.T"))
