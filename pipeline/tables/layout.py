"""The tables of a warehouse, made where they do not exist yet; and what each report's table was made for."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from deltalake import DeltaTable, Schema

from pipeline.errors import SetUpError
from pipeline.event_time.policy import Consumer, Policy
from pipeline.event_time.report import Report
from pipeline.event_time.retention import Keep
from pipeline.event_time.user_totals import UserTotals
from pipeline.tables.dictionary import COMMENT, comment_of
from pipeline.tables.durable import mend
from pipeline.tables.opening import report_from_json, report_to_json
from pipeline.tables.results.buckets import migrate
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
    open_table,
    results_of,
)
from pipeline.tables.swap import insist

_STORED_AS: Final = "tidemark.report"
_AS_IT_IS: Final = Keep()
_FREE: Final = "allowed_lateness_ms"
"""May change, for panes do not depend on it."""


def create_tables(warehouse: str, policy: Policy, kept: Mapping[str, Keep] = MappingProxyType({})) -> None:
    """Makes the tables that do not exist yet, and mends those that a power cut left with a commit cut off.

    `kept` says by table how long earlier versions stay. Raises SetUpError if the warehouse cannot be written.
    """
    definitions = {one.name: {_STORED_AS: json.dumps(_definition(one))} for one in policy.consumers}
    mend(EVENT_IDS.uri(warehouse))
    ids = [EVENT_IDS] if policy.deduplicate or is_table(EVENT_IDS.uri(warehouse)) else []
    made = (PANES, DEAD_LETTERS, *ids, *results_of(policy))
    for spec in made:
        mend(spec.uri(warehouse))
        wanted = _properties(spec, kept.get(spec.name, _AS_IT_IS)) | definitions.get(spec.name, {})
        table = open_table(spec, warehouse, wanted)
        _have(table, wanted)
        if spec is USER_TOTALS:
            migrate(table)
        if spec is PANES:
            _add_columns(table)
        _describe(table, spec)
    for spec in OWN:  # the others are made by who needs them first
        if spec not in made and (there := find_table(spec.name, warehouse)):
            _have(there, _properties(spec))
            _describe(there, spec)


def _properties(spec: TableSpec, keep: Keep = _AS_IT_IS) -> dict[str, str]:
    """All that a table has, also one that was made before; earlier versions stay for so long as is told."""
    if (kept := keep.time_travel_ms) is None:
        return spec.properties
    return spec.properties | dict.fromkeys(VERSIONS_KEPT, f"interval {kept // 1000} seconds")


def _have(table: DeltaTable, wanted: dict[str, str]) -> None:
    if not wanted.items() <= table.metadata().configuration.items():
        insist(table, partial(table.alter.set_table_properties, wanted, raise_if_not_exists=False))


def _describe(table: DeltaTable, spec: TableSpec) -> None:
    """Has a table that was made before, or by other words, say what the dictionary says of it and its columns."""
    if table.metadata().description != spec.about.description:
        insist(table, partial(table.alter.set_table_description, spec.about.description))
    said = {one.name: one.metadata.get(COMMENT) for one in table.schema().fields}
    for one in spec.schema:
        if one.name in said and said[one.name] != (comment := comment_of(one)):
            insist(table, partial(table.alter.set_column_metadata, one.name, {COMMENT: comment}))


def _add_columns(panes: DeltaTable) -> None:
    """Those of measures that came after the table was made: no row of it is of a report that has them."""
    known = {one.name for one in panes.schema().fields}
    if new := [one for one in Schema.from_arrow(PANES.schema).fields if one.name not in known]:
        panes.alter.add_columns(new)


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
