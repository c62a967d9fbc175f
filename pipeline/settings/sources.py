"""Where settings come from: values as they were written, each with the place where it stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """One source of settings."""

    kind: str
    """`flag`, `environment` or `file`."""
    values: Mapping[str, Any]
    """The tree, as far as this source has it."""
    names: Mapping[tuple[str, ...], str]
    """How it names a setting, or a part of the tree, such as `--kafka.topic`."""

    def has(self, path: Sequence[str]) -> bool:
        """Whether it says something of a place in the tree."""
        found: Any = self.values
        for name in path:
            if not isinstance(found, Mapping) or name not in found:
                return False
            found = found[name]
        return True

    def location(self, path: Sequence[str]) -> str:
        """Where it says it: the flag, the variable or the file."""
        parts = (tuple(path[:length]) for length in range(len(path), -1, -1))
        return next((self.names[part] for part in parts if part in self.names), self.kind)


def source_of(path: Sequence[str], sources: Sequence[Source]) -> Source | None:
    """The strongest source that says something of it."""
    return next((source for source in sources if source.has(path)), None)


def merged(sources: Sequence[Source]) -> dict[str, Any]:
    """The values of all; the first source is the strongest."""
    return reduce(_over, (source.values for source in reversed(sources)), {})


def _over(weaker: Mapping[str, Any], stronger: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(weaker)
    for name, value in stronger.items():
        below = result.get(name)
        result[name] = _over(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return result
