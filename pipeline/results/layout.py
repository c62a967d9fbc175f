"""Creates the tables of a warehouse, upgrades those of older versions, and stores the definition of each report."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from deltalake import DeltaTable, Schema

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.policy import Consumer, Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.table_retention import TableRetention
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.results.buckets import migrate
from tidemark.pipeline.settings.durations import write_milliseconds
from tidemark.pipeline.tables.dictionary import COMMENT, comment_of
from tidemark.pipeline.tables.durable import mend
from tidemark.pipeline.tables.handle import CommitFunction, Handle, create_table
from tidemark.pipeline.tables.opening import report_from_json, report_to_json
from tidemark.pipeline.tables.schemas import (
    CORRECTIONS,
    DEAD_LETTERS,
    EVENT_IDS,
    OWN,
    PANES,
    USER_TOTALS,
    VERSIONS_KEPT,
    TableSpec,
    find_table,
    is_table,
    results_of,
)
from tidemark.pipeline.tuning import STANDARD, Tuning

_STORED_AS: Final = "tidemark.report"
_DEFAULT: Final = TableRetention()
_MAY_CHANGE: Final = "allowed_lateness_ms"
"""The part of a definition that may change, because panes do not depend on it."""


def create_tables(
    warehouse: str,
    policy: Policy,
    retention: Mapping[str, TableRetention] = MappingProxyType({}),
    by: int | None = None,
    tuning: Tuning = STANDARD,
) -> None:
    """Creates missing tables, and mends tables with a commit that a power cut left incomplete.

    `retention` is by table, `by` is the batch that opens the epoch. Raises SetUpError if the warehouse cannot be
    written, Replaced if a newer service has started.
    """
    definitions = {consumer.name: {_STORED_AS: json.dumps(_definition(consumer))} for consumer in policy.consumers}
    mend(EVENT_IDS.uri(warehouse))
    ids = [EVENT_IDS] if policy.deduplicate or is_table(EVENT_IDS.uri(warehouse)) else []
    specs = (PANES, DEAD_LETTERS, *ids, *results_of(policy))
    for spec in specs:
        mend(spec.uri(warehouse))
        wanted = _properties(spec, retention.get(spec.name, _DEFAULT)) | definitions.get(spec.name, {})
        create_table(spec, warehouse, wanted)
        _bring_up_to_date(spec, warehouse, wanted, by, tuning)
    for spec in OWN:  # other tables are created by their first writers
        if spec not in specs and is_table(spec.uri(warehouse)):
            _bring_up_to_date(spec, warehouse, _properties(spec), by, tuning)


def _bring_up_to_date(
    spec: TableSpec, warehouse: str, properties: dict[str, str], by: int | None, tuning: Tuning
) -> None:
    """Upgrades a table that an older version or other settings created."""
    handle = Handle(spec.uri(warehouse))
    while change := next(_changes(handle.table, spec, properties), None):
        handle.attempt(change, by=by)
    if spec is USER_TOTALS:
        migrate(handle, by, tuning.bucket_rows)


def _changes(table: DeltaTable, spec: TableSpec, properties: dict[str, str]) -> Iterator[CommitFunction]:
    """Yields a function that commits the next change a table needs."""
    if not properties.items() <= table.metadata().configuration.items():
        yield partial(table.alter.set_table_properties, properties, raise_if_not_exists=False)
    comments = {field.name: field.metadata.get(COMMENT) for field in table.schema().fields}
    if spec in (PANES, CORRECTIONS):  # columns of newer measures and keys: no row is of a report with these
        new = [field for field in Schema.from_arrow(spec.schema).fields if field.name not in comments]
        yield from [partial(table.alter.add_columns, new)] if new else []
    if table.metadata().description != spec.about.description:
        yield partial(table.alter.set_table_description, spec.about.description)
    for field in spec.schema:
        if field.name in comments and comments[field.name] != (comment := comment_of(field)):
            yield partial(table.alter.set_column_metadata, field.name, {COMMENT: comment})


def _properties(spec: TableSpec, retention: TableRetention = _DEFAULT) -> dict[str, str]:
    """Returns the Delta properties of a table, with the retention of earlier versions."""
    if retention.time_travel_ms is None:
        return spec.properties
    return spec.properties | dict.fromkeys(VERSIONS_KEPT, f"interval {retention.time_travel_ms // 1000} seconds")


def check_results(warehouse: str, policy: Policy, *, all_made: bool = False) -> None:
    """Raises SetUpError if a definition differs from that of its table; with `all_made` also if a table is missing."""
    for consumer in policy.consumers:
        stored = (_stored if all_made else _find_stored)(consumer.name, warehouse)
        if stored is None:
            continue
        wanted = _definition(consumer)
        different = [name for name in wanted if name != _MAY_CHANGE and stored.get(name) != wanted[name]]
        if different:
            was, now = ([_part_text(name, parts.get(name)) for name in different] for parts in (stored, wanted))
            raise SetUpError(
                f"report {consumer.name} in the warehouse {warehouse} was made with {' and '.join(was)}, but the "
                f"settings say {' and '.join(now)}. Set it back, or give the report another name"
            )


def stored_report(name: str, warehouse: str) -> Report:
    """Returns the definition that a report's table stores. Raises SetUpError unless it is the table of a report."""
    stored = _stored(name, warehouse)
    if name == UserTotals.name:
        raise SetUpError(f"{name} has no windows that could be open: its table is complete")
    return report_from_json({**stored, "name": name})


def stored_reports(names: Iterable[str], warehouse: str) -> list[Report]:
    """Returns the definitions of the reports that have a table: a killed start may not have created all of them."""
    definitions = {name: _find_stored(name, warehouse) for name in names}
    return [report_from_json({**stored, "name": name}) for name, stored in definitions.items() if stored]


def _definition(consumer: Consumer) -> dict[str, Any]:
    """Returns the parts of a definition that the rows of the table depend on."""
    if isinstance(consumer, UserTotals):
        return asdict(consumer)
    return {name: value for name, value in report_to_json(consumer).items() if name != "name"}


def _part_text(name: str, value: Any) -> str:
    """Returns a part of a definition as users set it: windows by their kind and lengths, durations with a unit."""
    label = name.removesuffix("_ms")
    match value:
        case dict():
            lengths = [_part_text(key, length) for key, length in value.items() if length and key != "kind"]
            return " ".join([label, str(value.get("kind")), *lengths])
        case list():
            return f"{label} {', '.join(map(_entry_text, value)) or 'empty'}"
        case int() if name.endswith("_ms"):
            return f"{label} {write_milliseconds(value)}"
        case _:
            return f"{label} {'empty' if value in (None, '') else value}"


def _entry_text(entry: Any) -> str:
    """Returns an entry of a list as users set it: a dimension by its name and settings."""
    if not isinstance(entry, Mapping):
        return str(entry)
    return " ".join([entry["name"], *(f"{name} {value}" for name, value in entry.items() if value and name != "name")])


def _stored(name: str, warehouse: str) -> dict[str, Any]:
    stored = _find_stored(name, warehouse)
    if stored is None:
        raise SetUpError(f"the warehouse {warehouse} has no report {name}: the service has yet to create it")
    return stored


def _find_stored(name: str, warehouse: str) -> dict[str, Any] | None:
    table = find_table(name, warehouse)
    return json.loads(table.metadata().configuration[_STORED_AS]) if table else None
