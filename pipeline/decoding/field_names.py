"""One field under several names: versions of a record may rename a field and list its old name among its aliases."""

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from tidemark.pipeline.errors import SetUpError

Positions = Mapping[str, int]
"""The position of a field in versions of a record, by schema id; without the versions that lack it."""


class FieldNames:
    """Finds fields in versions of a record by any of their names."""

    def __init__(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        """Takes the record in each version that has it, by schema id, oldest first."""
        self._positions = {
            schema_id: {field["name"]: position for position, field in enumerate(record["fields"])}
            for schema_id, record in records.items()
        }
        self._other_names: dict[str, set[str]] = defaultdict(set)
        for field in (field for record in records.values() for field in record["fields"]):
            for alias in field.get("aliases", ()):
                self._other_names[field["name"]].add(alias)
                self._other_names[alias].add(field["name"])

    def __contains__(self, name: str) -> bool:
        """Returns whether a version has a field with this name or alias."""
        return name in self._other_names or any(name in positions for positions in self._positions.values())

    def positions(self, name: str) -> Positions:
        """Returns the position of a field in each version, under its own name or the name nearest by aliases.

        Example: version 7 has `x`, version 9 has `y` with the alias `x`: `y` is found as `x` in version 7.
        """
        return self._first_of(self._by_distance(name))

    def newest(self) -> dict[str, Positions]:
        """Returns the fields of all versions by their newest names, with their positions."""
        fields: dict[str, Positions] = {}
        for name in dict.fromkeys(name for positions in reversed(self._positions.values()) for name in positions):
            found = self.positions(name)
            if not any(overlap(found, other) for other in fields.values()):
                fields[name] = found
        return fields

    def without_aliases(self) -> dict[str, Positions]:
        """Returns the fields of all versions by name, with their positions; equal names are one field."""
        names = dict.fromkeys(name for positions in self._positions.values() for name in positions)
        return {name: self._first_of([name]) for name in names}

    def _first_of(self, names: list[str]) -> Positions:
        return {
            schema_id: positions[nearest]
            for schema_id, positions in self._positions.items()
            if (nearest := next((name for name in names if name in positions), None))
        }

    def _by_distance(self, name: str) -> list[str]:
        names = [name]
        for nearer in names:
            names += sorted(self._other_names.get(nearer, set()) - {*names})
        return names


def overlap(some: Positions, others: Positions) -> list[str]:
    """Returns the schema ids of the versions in which both are the same field."""
    return [schema_id for schema_id, position in some.items() if others.get(schema_id) == position]


def require_distinct(fields: Mapping[str, Positions]) -> None:
    """Raises SetUpError if two names are one field in some versions only, or differ only in case."""
    for first, second in combinations(fields, 2):
        same = overlap(fields[first], fields[second])
        if same and fields[first] != fields[second]:
            problem = f"are one field of schema {same[0]}, but not of all"
        elif first.lower() == second.lower():
            problem = "differ only in case, which Spark does not distinguish"
        else:
            continue
        raise SetUpError(f"{first} and {second} {problem}: name only one of them in conditions and in schemas.mapping")
