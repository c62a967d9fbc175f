"""One field under several names: versions of a record may rename a field and list its old name among its aliases."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

Positions = tuple[int | None, ...]
"""The position of a field in each version of a record; None if a version lacks it."""


_NO_FIELD: Final = re.compile(
    r"""[rR]'[^']*' | [rR]"[^"]*" | '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | \w+\s*\(""", re.DOTALL | re.VERBOSE
)
"""Text literals and calls of functions in Spark's SQL."""


class FieldNames:
    """Finds fields in versions of a record by any of their names."""

    def __init__(self, records: Sequence[Mapping[str, Any] | None]) -> None:
        """Takes one record schema per version, oldest first; None if a version lacks the record."""
        versions = [record["fields"] if record else () for record in records]
        self._positions = [{field["name"]: position for position, field in enumerate(fields)} for fields in versions]
        self._other_names: dict[str, set[str]] = defaultdict(set)
        for field in (field for fields in versions for field in fields):
            for alias in field.get("aliases", ()):
                self._other_names[field["name"]].add(alias)
                self._other_names[alias].add(field["name"])

    def __contains__(self, name: str) -> bool:
        """Returns whether a version has a field with this name or alias."""
        return name in self._other_names or any(name in positions for positions in self._positions)

    def positions(self, name: str) -> Positions:
        """Returns the position of a field in each version, under its own name or the name nearest by aliases.

        Example: version 7 has `x`, version 9 has `y` with the alias `x`: `y` is found as `x` in version 7.
        """
        names = self._by_distance(name)
        return tuple(
            next((positions[other] for other in names if other in positions), None) for positions in self._positions
        )

    def newest(self) -> dict[str, Positions]:
        """Returns the fields of all versions by their newest names, with their positions."""
        fields: dict[str, Positions] = {}
        for name in dict.fromkeys(name for positions in reversed(self._positions) for name in positions):
            found = self.positions(name)
            if not any(overlap(found, other) for other in fields.values()):
                fields[name] = found
        return fields

    def _by_distance(self, name: str) -> list[str]:
        names = [name]
        for nearer in names:
            names += sorted(self._other_names.get(nearer, set()) - {*names})
        return names


def overlap(some: Positions, others: Positions) -> list[int]:
    """Returns the indices of the versions in which both are the same field."""
    pairs = enumerate(zip(some, others, strict=True))
    return [version for version, (first, second) in pairs if first is not None and first == second]


def words_of(sql: str) -> set[str]:
    """Returns the words of SQL that may be names of fields: those outside text literals, without names of functions."""
    return set(re.findall(r"\w+", _NO_FIELD.sub(" ", sql)))
