"""Types of a writer schema, rewritten so that Avro and Spark read them whatever their names are.

Avro compares enums and fixed types by name, and refuses a schema that defines a name twice. So a type that is read is
defined at each use, under a name made of the path of its field: it is equal in all versions. Other types keep
references to each other, and nothing but their size matters.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pipeline.errors import SetUpError

_MOST_TYPES: Final = 10_000
"""Limit on the types of a field: if each of many levels used the next twice, there would be billions of copies."""
_NAMED: Final = ("record", "enum", "fixed")
_OF_VALUES: Final = ("symbols", "size", "logicalType", "precision", "scale")


class WriterTypes:
    """The types of one writer schema."""

    def __init__(self, schema_id: int, definitions: Mapping[str, Any]) -> None:
        """Takes the definition of each type by its full name."""
        self.schema_id = schema_id
        self._definitions = definitions
        self._skipped: dict[str, str] = {}
        self._count = 0

    def definition(self, kind: Any) -> Any:
        """Returns the definition of a type that may be a name."""
        return self._definitions.get(kind, kind) if isinstance(kind, str) else kind

    def read(self, kind: Any, path: str, around: frozenset[str] = frozenset()) -> Any:
        """Returns a type that is read, with its named types defined under names made of `path`.

        Raises SetUpError if it contains itself, or is too large; `around` are the names of the enclosing types.
        """
        self._require_few(path)
        if isinstance(kind, list):
            others = [branch for branch in kind if branch != "null"]
            paths = [path] if len(others) == 1 else [f"{path}._{index}" for index, _ in enumerate(others)]
            names = iter(paths)
            return [branch if branch == "null" else self.read(branch, next(names), around) for branch in kind]
        kind = self.definition(kind)
        if isinstance(kind, str):
            return kind
        around = self.entered(kind, path, around)
        return _rebuilt(kind, path, lambda inner, name: self.read(inner, f"{path}.{name}" if name else path, around))

    def skip(self, kind: Any) -> Any:
        """Returns a type that is not read: without logical types, and with each named type defined at its first use."""
        if isinstance(kind, list):
            return [self.skip(branch) for branch in kind]
        kind = self.definition(kind)
        if isinstance(kind, str):
            return kind
        if kind["type"] not in (*_NAMED, "array", "map"):
            return kind["type"]
        if (name := kind.get("name")) in self._skipped:
            return self._skipped[name]
        new = f"skipped.t{len(self._skipped)}"
        if name is not None:
            self._skipped[name] = new
        kind = {key: value for key, value in kind.items() if key not in ("logicalType", "precision", "scale")}
        return _rebuilt(kind, new, lambda inner, _: self.skip(inner))

    def entered(self, kind: Mapping[str, Any], path: str, around: frozenset[str]) -> frozenset[str]:
        """Returns the names of the types that enclose the parts of `kind`.

        Raises SetUpError if it contains itself, or is too large.
        """
        self._require_few(path)
        name = kind.get("name")
        if kind["type"] != "record" or name is None:
            return around
        if name in around:
            raise SetUpError(
                f"schema {self.schema_id}: {_field(path)} contains itself, and Spark has no such type: leave the field "
                "out of conditions and of schemas.mapping"
            )
        return around | {name}

    def _require_few(self, path: str) -> None:
        """Counts a type that is read. Raises SetUpError if there are too many."""
        self._count += 1
        if self._count > _MOST_TYPES:
            raise SetUpError(
                f"schema {self.schema_id}: {_field(path)} has more than {_MOST_TYPES:,} parts: leave it out of "
                "conditions"
            )


def _rebuilt(kind: Mapping[str, Any], name: str, rewrite: Callable[[Any, str], Any]) -> dict[str, Any]:
    """Returns an object type under a new name, without defaults and aliases; `rewrite` takes a part and its field."""
    new = {"type": kind["type"]} | {key: kind[key] for key in _OF_VALUES if key in kind}
    if kind["type"] in _NAMED:
        new["name"] = name
    if kind["type"] == "record":
        new["fields"] = [
            {"name": field["name"], "type": rewrite(field["type"], field["name"])} for field in kind["fields"]
        ]
    return new | {key: rewrite(kind[key], "") for key in ("items", "values") if key in kind}


def _field(path: str) -> str:
    """Returns the path of a field, for an error message."""
    return path.partition(".")[2] or path
