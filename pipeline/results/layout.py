"""The tables of a warehouse, made where they do not exist yet; and what each report's table was made for."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from deltalake import DeltaTable, Schema

from pipeline.errors import SetUpError
from pipeline.event_time.policy import Consumer, Policy
from pipeline.event_time.reports import Report
from pipeline.event_time.table_retention import TableRetention
from pipeline.event_time.user_totals import UserTotals
from pipeline.results.buckets import migrate
from pipeline.tables.dictionary import COMMENT, comment_of
from pipeline.tables.durable import mend
from pipeline.tables.handle import Act, Handle, create_table
from pipeline.tables.opening import report_from_json, report_to_json
from pipeline.tables.schemas import (
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

_STORED_AS: Final = "tidemark.report"
_AS_IT_IS: Final = TableRetention()
_FREE: Final = "allowed_lateness_ms"
"""May change, for panes do not depend on it."""


def create_tables(
    warehouse: str, policy: Policy, kept: Mapping[str, TableRetention] = MappingProxyType({}), by: int | None = None
) -> None:
    """Creates the tables that are missing, and mends those that a power cut left with a commit cut off.

    `kept` is by table how long earlier versions stay, `by` the batch that opens the epoch. Raises SetUpError if the
    warehouse cannot be written, Replaced if a newer service has begun.
    """
    definitions = {one.name: {_STORED_AS: json.dumps(_definition(one))} for one in policy.consumers}
    mend(EVENT_IDS.uri(warehouse))
    ids = [EVENT_IDS] if policy.deduplicate or is_table(EVENT_IDS.uri(warehouse)) else []
    made = (PANES, DEAD_LETTERS, *ids, *results_of(policy))
    for spec in made:
        mend(spec.uri(warehouse))
        wanted = _properties(spec, kept.get(spec.name, _AS_IT_IS)) | definitions.get(spec.name, {})
        create_table(spec, warehouse, wanted)
        _bring_up_to_date(spec, warehouse, wanted, by)
    for spec in OWN:  # the others are created by their first writers
        if spec not in made and is_table(spec.uri(warehouse)):
            _bring_up_to_date(spec, warehouse, _properties(spec), by)


def _bring_up_to_date(spec: TableSpec, warehouse: str, properties: dict[str, str], by: int | None) -> None:
    """Gives a table that an older version, or other settings, created what it has today."""
    handle = Handle(spec.uri(warehouse))
    while change := next(_changes(handle.table, spec, properties), None):
        handle.attempt(change, by=by)
    if spec is USER_TOTALS:
        migrate(handle, by)


def _changes(table: DeltaTable, spec: TableSpec, properties: dict[str, str]) -> Iterator[Act]:
    """Yields what commits each change that a table needs."""
    if not properties.items() <= table.metadata().configuration.items():
        yield partial(table.alter.set_table_properties, properties, raise_if_not_exists=False)
    known = {one.name: one.metadata.get(COMMENT) for one in table.schema().fields}
    if spec is PANES:  # of measures that came later: no row is of a report that has them
        new = [one for one in Schema.from_arrow(PANES.schema).fields if one.name not in known]
        yield from [partial(table.alter.add_columns, new)] if new else []
    if table.metadata().description != spec.about.description:
        yield partial(table.alter.set_table_description, spec.about.description)
    for one in spec.schema:
        if one.name in known and known[one.name] != (comment := comment_of(one)):
            yield partial(table.alter.set_column_metadata, one.name, {COMMENT: comment})


def _properties(spec: TableSpec, keep: TableRetention = _AS_IT_IS) -> dict[str, str]:
    """All that a table has, also one that was made before; earlier versions stay for so long as is told."""
    if (kept := keep.time_travel_ms) is None:
        return spec.properties
    return spec.properties | dict.fromkeys(VERSIONS_KEPT, f"interval {kept // 1000} seconds")


def check_results(warehouse: str, policy: Policy, *, all_made: bool = False) -> None:
    """Raises SetUpError if something is no longer what its table was made for; with `all_made` also if it has none."""
    for consumer in policy.consumers:
        found = (_told if all_made else _told_if_made)(consumer.name, warehouse)
        if found is None:
            continue
        wanted = _definition(consumer)
        different = [name for name in wanted if name != _FREE and found.get(name) != wanted[name]]
        if different:
            raise SetUpError(
                f"report {consumer.name} in the warehouse {warehouse} was made with "
                f"{', '.join(f'{name} = {found.get(name)}' for name in different)}, but the settings say "
                f"{', '.join(str(wanted[name]) for name in different)}. Set it back, or give the report another name"
            )


def stored_report(name: str, warehouse: str) -> Report:
    """A report as its table tells of it. Raises SetUpError if there is none, or it is no report."""
    told = _told(name, warehouse)
    if name == UserTotals.name:
        raise SetUpError(f"{name} has no windows that could be open: its table has all there is to see")
    return report_from_json({**told, "name": name})


def stored_reports(names: Iterable[str], warehouse: str) -> list[Report]:
    """Those reports of which there is a table: a start that was cut off may not have come to make it."""
    told = {name: _told_if_made(name, warehouse) for name in names}
    return [report_from_json({**one, "name": name}) for name, one in told.items() if one]


def _definition(consumer: Consumer) -> dict[str, Any]:
    """The part of a consumer that a table's rows depend on."""
    if isinstance(consumer, UserTotals):
        return asdict(consumer)
    return {name: value for name, value in report_to_json(consumer).items() if name != "name"}


def _told(name: str, warehouse: str) -> dict[str, Any]:
    found = _told_if_made(name, warehouse)
    if found is None:
        raise SetUpError(f"the warehouse {warehouse} has no report {name}: the service has yet to make it")
    return found


def _told_if_made(name: str, warehouse: str) -> dict[str, Any] | None:
    table = find_table(name, warehouse)
    return json.loads(table.metadata().configuration[_STORED_AS]) if table else None
