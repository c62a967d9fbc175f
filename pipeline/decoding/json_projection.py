"""Events in JSON: the fields that are read, and how they become user, time, kind and page. They have no schema."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from pyspark.sql import Column

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.event_columns import (
    event_type_column,
    iso_millis,
    kind_column,
    kind_roles,
    needed_columns,
    user_column,
    user_roles,
)
from tidemark.pipeline.decoding.projection import decoded_column
from tidemark.pipeline.decoding.sql_words import words_of
from tidemark.pipeline.errors import SetUpError
from tidemark.schemas.fields import EventFields, TimeUnit

_OWN: Final = (c.EVENT_TYPE, c.USER_ID, c.EVENT_TIME, c.PAGE_URL, c.EVENT_ID)
_TO_MILLIS: Final[Mapping[TimeUnit | None, int]] = {"s": 3, "ms": 0, "us": -3, "ns": -6, None: 0}
"""The power of ten that converts a number in this unit to milliseconds."""
_TYPE_NAME: Final = re.compile(r"\bas\s+\w+|::\s*\w+", re.IGNORECASE)
"""The type of a cast."""
_OPERATORS: Final = frozenset(
    [
        *("all", "and", "any", "as", "between", "case", "cast", "distinct", "div", "else", "end", "escape", "exists"),
        *("false", "from", "ilike", "in", "is", "like", "not", "null", "or", "regexp", "rlike", "some", "then"),
        *("true", "when"),
    ]
)
"""Words of Spark's SQL that are not names."""


@dataclass(frozen=True, slots=True)
class _JsonField:
    """A field that Java reads: see `connector/tidemark/JsonFields.java`."""

    name: str
    path: Sequence[str]
    kind: str
    power: int = 0

    @property
    def column(self) -> Column:
        """The decoded field."""
        return decoded_column((self.name,))

    def as_json(self) -> dict[str, Any]:
        """Returns the field as Java reads it."""
        return {"name": self.name, "path": [*self.path], "as": self.kind, "power": self.power}


class JsonProjection:
    """Reads events in JSON."""

    def __init__(self, fields: EventFields, sql: str, paths: Collection[str] = ()) -> None:
        """Reads user, time, kind, the fields that `sql` names, and texts at `paths`.

        Raises SetUpError if names differ only in case.
        """
        self._mapping = fields
        words = _names_in(sql)
        self._roles = {role.name: role for role in _mapped(fields, words)}
        self._further = {
            name: _JsonField(f"field {name}", (name,), fields.types.get(name, "text"))
            for name in sorted(words)
            if name.lower() not in _OWN
        }
        _require_distinct([*self._further])
        self._further |= {path: _JsonField(f"field {path}", path.split("."), "text") for path in paths}

    @property
    def plan(self) -> str:
        """The decoding plan: the fields that Java decodes, as JSON."""
        read = [*self._roles.values(), *self._further.values()]
        return json.dumps({"fields": [field.as_json() for field in read]})

    @property
    def names(self) -> list[str]:
        """Returns the names of `columns`."""
        optional = [name for name in (c.PAGE_URL, c.EVENT_ID) if name in self._roles]
        return [c.EVENT_TYPE, c.USER_ID, c.EVENT_TIME, *optional, *self._further]

    def columns(self) -> Sequence[Column]:
        """Returns `names` of the decoded events; all null if nothing was decoded."""
        columns = {name: role.column for name, role in self._roles.items()}
        event_type = event_type_column(self._mapping, kind_column(columns))
        needed = needed_columns(columns["read"], event_type, user_column(columns), *_times(columns))
        optional = [columns[name].alias(name) for name in (c.PAGE_URL, c.EVENT_ID) if name in columns]
        return [*needed, *optional, *(field.column.alias(name) for name, field in self._further.items())]

    def same_as_user(self) -> set[str]:
        """Returns the names of further fields that are the user, have the user inside, or are inside of it."""
        return {name for name in self._further if any(_meet(name, user) for user in self._mapping.users)}


def _times(columns: Mapping[str, Column]) -> list[Column]:
    """Returns the columns that may have the time in milliseconds: as a number, and parsed from text."""
    text = [iso_millis(columns["time text"])] if "time text" in columns else []
    return [columns["time"], *text] if "time" in columns else text


def _mapped(fields: EventFields, words: set[str]) -> Iterator[_JsonField]:
    """Yields the mapped fields that are needed."""
    yield _JsonField("read", (), "read")
    for role, path in user_roles(fields).items():
        yield _JsonField(role, path.split("."), "id")
    if fields.time_unit != "iso":
        yield _JsonField("time", fields.time.split("."), "time", _TO_MILLIS[fields.time_unit])
    if fields.time_unit in ("iso", None):
        yield _JsonField("time text", fields.time.split("."), "text")
    for role, path in kind_roles(fields).items():
        yield _JsonField(role, path.split("."), "text")
    for name, path in ((c.PAGE_URL, fields.page), (c.EVENT_ID, fields.event_id)):
        if name in words:
            yield _JsonField(name, path.split("."), "id")


def _meet(path: str, other: str) -> bool:
    """Returns whether a dotted path leads to the same field as another, or is a part of it."""
    return f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.")


def _names_in(sql: str) -> set[str]:
    """Returns the words of SQL that may be names of fields."""
    words = words_of(_TYPE_NAME.sub(" ", sql))
    return {word for word in words if word.lower() not in _OPERATORS and not word[0].isdigit()}


def _require_distinct(names: Sequence[str]) -> None:
    for first, second in combinations(names, 2):
        if first.lower() == second.lower():
            raise SetUpError(
                f"{first} and {second} differ only in case, which Spark does not distinguish: name only one of them in "
                "conditions"
            )
