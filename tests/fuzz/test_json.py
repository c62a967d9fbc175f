"""Values in JSON are read as Python's own parser reads them, whatever bytes they have, record by record."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa
import pytest

from tests.fuzz.json_oracle import NOT_UTF8, NotJson, at, event_of, id_of, millis_of, number_of, text_of
from tests.fuzz.json_seeds import at_the_bounds, json_seeds
from tests.fuzz.mutate_json import json_mutants
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.seeds import SEED
from tidemark.pipeline.decoding.decode import decoded
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings

pytestmark = pytest.mark.jvm

COUNT: Final = 5_000
COUNT_BY_NIGHT: Final = 30_000
FIELDS: Final[dict[str, tuple[str, str, int]]] = {
    "is read": ("", "read", 0),
    "user": ("customer.id", "id", 0),
    "item": ("items.0.id", "id", 0),
    "second": ("items.1", "text", 0),
    "time": ("meta.at", "time", 0),
    "seconds": ("meta.at", "time", 3),
    "nanos": ("meta.at", "time", -6),
    "as text": ("meta.at", "text", 0),
    "kind": ("act", "text", 0),
    "price": ("price", "number", 0),
    "is new": ("new", "boolean", 0),
    "odd": ("@odd name", "text", 0),
    "first": ("0.id", "id", 0),
    "in a text": ("note.user.id", "id", 0),
    "of a key": ("params.page.text", "text", 0),
    "item's": ("items.size", "number", 0),
}
WHOLE: Final = {"customer": "customer", "items": "items"}
"""Fields that are read as a whole and in parts."""


def events_text() -> str:
    """Returns what Java reads of the fields."""
    fields = {**FIELDS, **{name: (path, "text", 0) for name, path in WHOLE.items()}}
    return json.dumps(
        {
            "fields": [
                {"name": name, "path": path.split(".") if path else [], "as": kind, "power": power}
                for name, (path, kind, power) in fields.items()
            ]
        }
    )


def expected(value: bytes) -> dict[str, Any]:
    """Returns the fields of a value by Python's parser; all None if it is no JSON."""
    try:
        event = event_of(value)
    except NotJson:
        return dict.fromkeys(FIELDS)
    readers: dict[str, Callable[[Any, int], Any]] = {
        "read": lambda _, __: True,
        "id": lambda read, _: id_of(read),
        "text": lambda read, _: text_of(read),
        "time": millis_of,
        "number": lambda read, _: number_of(read),
        "boolean": lambda read, _: read if isinstance(read, bool) else None,
    }
    return {
        name: readers[kind](at(event, path.split(".")) if path else None, power)
        for name, (path, kind, power) in FIELDS.items()
    }


def read(values: Sequence[bytes | None]) -> list[dict[str, Any]]:
    """Returns the fields of values as Java reads them; texts as bytes."""
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    rows = spark.createDataFrame(pa.table({"value": pa.array(values, pa.binary())}))
    columns = [f"`event.{name}`" for name in (*FIELDS, *WHOLE)]
    kinds = dict(decoded(rows.limit(0), events_text()).dtypes)
    selected = [f"cast({name} AS binary) AS {name}" if kinds[name.strip("`")] == "string" else name for name in columns]
    table = decoded(rows, events_text()).selectExpr(*selected).toArrow()
    return [{name.removeprefix("event."): field for name, field in row.items()} for row in table.to_pylist()]


def differences(values: Sequence[bytes]) -> list[Any]:
    """Returns the values that were read in another way than by Python's parser."""
    found = []
    for value, row in zip(values, read(values), strict=True):
        wanted = expected(value)
        # An array or object is read as it is written: see below.
        for name in ("second", "kind", "as text", "odd", "of a key"):
            if wanted[name] is None and row[name] is not None and row[name][:1] in b"[{":
                wanted[name] = row[name]
        got = {name: _plain(row[name], wanted[name]) for name in FIELDS}
        if got != wanted or (wanted["is read"] and not _same_wholes(value, row)):
            found.append((value[:500], wanted, got))
    return found


def _plain(field: Any, wanted: Any) -> Any:
    """Returns a text that ends in a byte that is not UTF-8 as that byte."""
    return NOT_UTF8 if wanted == NOT_UTF8 and field is not None and field.endswith(NOT_UTF8) else field


def _same_wholes(value: bytes, row: dict[str, Any]) -> bool:
    """Returns whether fields that are objects or arrays are read as they are written."""
    event = event_of(value)
    for name, path in WHOLE.items():
        whole = at(event, [path])
        if isinstance(whole, dict | list) and event_of(row[name]) != whole:
            return False
    return True


@pytest.mark.jvm
def test_values_at_the_bounds_are_read_as_python_reads_them() -> None:
    values = at_the_bounds()
    assert not differences(values)
    named = b'{"%s":1}' % (b"n" * 5_000)  # names are cached
    assert read([named])[0]["is read"] is None
    assert read([None]) == [dict.fromkeys((*FIELDS, *WHOLE))]


@pytest.mark.jvm
@pytest.mark.parametrize(
    "count", [COUNT, pytest.param(COUNT_BY_NIGHT, marks=pytest.mark.nightly)], ids=["sample", "many"]
)
def test_broken_values_are_read_as_python_reads_them_record_by_record(count: int) -> None:
    values = json_mutants(json_seeds(), count, SEED)
    wrong = differences(values)
    assert not wrong, (len(wrong), wrong[:5])
    valid = sum(expected(value)["is read"] is True for value in values)
    assert count * 0.2 < valid < count * 0.8, valid
