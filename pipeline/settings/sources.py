"""Sources of settings: values as written, each with its location."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """A source of settings."""

    kind: str
    """`flag`, `environment` or `file`."""
    values: Mapping[str, Any]
    """The tree of settings, with the values of this source only."""
    names: Mapping[tuple[str, ...], str]
    """Names in this source by path of a setting or section, such as `--kafka.topic`."""

    def has(self, path: Sequence[str]) -> bool:
        """Tests whether this source has a value at `path`."""
        section = self.at(path[:-1])
        return not path or (isinstance(section, Mapping) and path[-1] in section)

    def at(self, path: Sequence[str]) -> Any:
        """Returns the value at `path`; None without a value."""
        tree: Any = self.values
        for name in path:
            tree = tree.get(name) if isinstance(tree, Mapping) else None
        return tree

    def location(self, path: Sequence[str]) -> str:
        """Returns the flag, the variable or the file that sets `path`."""
        prefixes = (tuple(path[:length]) for length in range(len(path), -1, -1))
        return next((self.names[prefix] for prefix in prefixes if prefix in self.names), self.kind)


def source_of(path: Sequence[str], sources: Sequence[Source]) -> Source | None:
    """Returns the strongest source with a value at `path`."""
    return next((source for source in sources if source.has(path)), None)


def merged(sources: Sequence[Source]) -> dict[str, Any]:
    """Merges the values of all sources; the first source is the strongest."""
    return reduce(_over, (source.values for source in reversed(sources)), {})


def _over(weaker: Mapping[str, Any], stronger: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(weaker)
    for name, value in stronger.items():
        weaker_value = result.get(name)
        result[name] = (
            _over(weaker_value, value) if isinstance(weaker_value, Mapping) and isinstance(value, Mapping) else value
        )
    return result
