"""The columns of an event that are made alike of Avro and of JSON: its type, user and time."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.projection import MISSING_TYPE, UNKNOWN_TYPE
from tidemark.schemas.fields import VISIT, EventFields
from tidemark.schemas.time_texts import TIME_TEXT


def needed_columns(is_read: Column, event_type: Column, user: Column, *times: Column) -> list[Column]:
    """Returns event type, user and the first of `times` that is not null; all null where `is_read` is not true.

    A missing user counts as empty.
    """
    own = {
        c.EVENT_TYPE: event_type,
        c.USER_ID: F.coalesce(user, F.lit("")),
        c.EVENT_TIME: F.coalesce(*times),
    }
    return [F.when(is_read, value).alias(name) for name, value in own.items()]


def user_roles(fields: EventFields) -> dict[str, str]:
    """Returns the dotted paths of the fields that may have the user, by role: `user`, `user 1` and so on."""
    return _roles("user", fields.users)


def kind_roles(fields: EventFields) -> dict[str, str]:
    """Returns the dotted paths of the fields that may have the kind, by role: `kind`, `kind 1` and so on."""
    return _roles("kind", fields.kind_fields)


def base_of(role: str) -> str:
    """Returns what a field with one of several roles is: `user` of `user 1`."""
    return role.partition(" ")[0]


def _roles(base: str, paths: Sequence[str]) -> dict[str, str]:
    return {f"{base} {at}" if at else base: path for at, path in enumerate(paths)}


def user_column(columns: Mapping[str, Column]) -> Column:
    """Returns the user as text: the first of `user_roles` that is neither null nor empty. `columns` are by role."""
    return _first_text([column.cast("string") for role, column in columns.items() if is_user(role)])


def kind_column(columns: Mapping[str, Column]) -> Column | None:
    """Returns the kind: the first of `kind_roles` that is neither null nor empty, None without such fields."""
    kinds = [column for role, column in columns.items() if base_of(role) == "kind"]
    return _first_text(kinds) if kinds else None


def _first_text(texts: Sequence[Column]) -> Column:
    return texts[0] if len(texts) == 1 else F.coalesce(*(F.nullif(text, F.lit("")) for text in texts))


def is_user(role: str) -> bool:
    """Returns whether a role is one of `user_roles`."""
    return base_of(role) == "user"


def event_type_column(fields: EventFields, raw: Column | None) -> Column:
    """Returns the event type by the field `kind`, which is None if every event is a visit."""
    if raw is None:
        return F.lit(VISIT)
    cases: Any = F
    for kind in sorted({*fields.kinds.values()}):
        values = [value for value, meaning in fields.kinds.items() if meaning == kind]
        cases = cases.when(raw.isin(values), F.lit(kind))
    cases = cases.when(F.coalesce(raw, F.lit("")) == "", F.lit(MISSING_TYPE))
    event_type: Column = cases.otherwise(F.lit(UNKNOWN_TYPE))
    return event_type


def iso_millis(text: Column) -> Column:
    """Returns the milliseconds of a time as text; null if it is not a time by `TIME_TEXT`."""
    # Spark alone reads BST as Dhaka, a time of day as today's, and no time with a zone and without seconds.
    written = F.regexp_replace(text, TIME_TEXT, "$1-$2-$3T$4:$5:$6.$7$8$9")
    complete = F.replace(F.replace(written, F.lit("T::."), F.lit("T00:00:00.")), F.lit(":."), F.lit(":00."))
    return F.when(text.rlike(TIME_TEXT), F.unix_millis(F.try_to_timestamp(complete)))
