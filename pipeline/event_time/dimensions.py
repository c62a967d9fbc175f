"""Dimensions: keys of reports that are made of any field of an event, by a path or in SQL.

A fold and `panes` have the values as text, because the dimensions of reports differ; readers of panes, and results,
have them in the dimension's type. Null is a value like any other: the event has no such field, or its value does not
fit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa

MOST: Final = 8
"""The most dimensions of a report: `panes` has as many columns for them."""
DIMENSION: Final = "dimension "
"""The prefix of the columns of dimensions in a fold."""
STORED: Final = tuple(f"dimension_{number}" for number in range(1, MOST + 1))
"""The columns of `panes` and `corrections` with the dimensions of a report, in the order of their names."""


class Type(StrEnum):
    """The type of a dimension's values."""

    TEXT = "text"
    INTEGER = "integer"
    """Whole numbers of 64 bits."""
    BOOLEAN = "boolean"
    DATE = "date"

    @property
    def sql(self) -> str:
        """The type in SQL, of every engine."""
        return _SQL[self]

    @property
    def arrow(self) -> pa.DataType:
        """The type in Arrow, and in the tables of reports."""
        return _ARROW[self]

    def value_of(self, text: str | None) -> Any:
        """Returns the value in a text that a fold wrote; null for null.

        >>> Type.BOOLEAN.value_of("true"), Type.DATE.value_of("2026-05-01")
        (True, datetime.date(2026, 5, 1))
        """
        if text is None:
            return None
        match self:
            case Type.INTEGER:
                return int(text)
            case Type.BOOLEAN:
                return text == "true"
            case Type.DATE:
                return date.fromisoformat(text)
            case Type.TEXT:
                return text

    @staticmethod
    def text_of(value: Any) -> str | None:
        """Returns a value as a fold writes it; null for null."""
        if value is None:
            return None
        return str(value).lower() if isinstance(value, bool) else str(value)


_SQL: Final[Mapping[Type, str]] = {
    Type.TEXT: "STRING",
    Type.INTEGER: "BIGINT",
    Type.BOOLEAN: "BOOLEAN",
    Type.DATE: "DATE",
}
_ARROW: Final[Mapping[Type, pa.DataType]] = {
    Type.TEXT: pa.string(),
    Type.INTEGER: pa.int64(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
}


def source_text(path: str, sql: str) -> str:
    """Returns what names a value of an event in comments: its path, or SQL."""
    return f"`{path}` of the event" if path else f"`{sql}`, over the fields of the event"


@dataclass(frozen=True, slots=True)
class Dimension:
    """A key of reports that is made of an event's fields: either the value at a path, or that of SQL."""

    name: str
    path: str = ""
    """Names of fields with dots between them: a field of a record in a record."""
    sql: str = ""
    """Spark's SQL over the fields of an event."""
    type: Type = Type.TEXT
    zone: str = ""
    """In SQL with a zone, `event_time` is the local time there, as a timestamp; without one it is milliseconds."""
    personal: bool = False
    """Whether its values are ids of people, which are hashed and erased like users; only of texts at a path."""
    top: int = 0
    """Published windows have a row for each of this many largest values, and one for all others; 0 for each value."""

    @property
    def column(self) -> str:
        """The column of its texts in a fold; no field of an event has a name with a space."""
        return f"{DIMENSION}{self.name}"

    @property
    def others(self) -> str:
        """The column of results with the number of values that a row is the sum of, if the dimension has a `top`."""
        return f"{self.name}_others"

    @property
    def meaning(self) -> str:
        """The comment of its column."""
        source = source_text(self.path, self.sql)
        zone = f", in the time of {self.zone}" if self.zone else ""
        personal = "; the id of a person, as user_id" if self.personal else ""
        other = f", or if {self.others} is not 0" if self.top else ""
        return f"{source[0].upper()}{source[1:]}{zone}{personal}; null if it is unknown{other}."

    def typed_sql(self, column: str) -> str:
        """Returns SQL of the values in a column of texts, in any engine."""
        return column if self.type is Type.TEXT else f"CAST({column} AS {self.type.sql})"
