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
from pipeline.tables.policies import report_from_json, report_to_json
from pipeline.tables.schemas import (
    CORRECTIONS,
    DEAD_LETTERS,
    LEDGER,
    PANES,
    VERSIONS_KEPT,
    TableSpec,
    open_table,
    results_of,
)
from pipeline.tables.swap import insist

_STORED_AS: Final = "tidemark.report"
_FREE: Final = "allowed_lateness_ms"
"""May change, for panes do not depend on it."""


def create_tables(warehouse: str, policy: Policy, kept: Mapping[str, Keep] = MappingProxyType({})) -> None:
    """Makes the tables that do not exist yet, and mends those that a power cut left with a commit cut off.

    `kept` says by table how long earlier versions stay. Raises SetUpError if the warehouse cannot be written.
    """
    results = results_of(policy)
    for spec in (PANES, DEAD_LETTERS, *results):
        mend(spec.uri(warehouse))
    for consumer, spec in zip(policy.consumers, results, strict=True):
        wanted = _definition(consumer)
        table = open_table(spec, warehouse, {_STORED_AS: json.dumps(wanted)})
        if _told(spec.name, warehouse) != wanted:
            table.alter.set_table_properties({_STORED_AS: json.dumps(wanted)}, raise_if_not_exists=False)
    _add_columns(open_table(PANES, warehouse))
    open_table(DEAD_LETTERS, warehouse)
    for spec in (DEAD_LETTERS, *results):
        _keep_versions(DeltaTable(spec.uri(warehouse)), spec, kept.get(spec.name))
    for spec in (LEDGER, PANES, DEAD_LETTERS, CORRECTIONS, *results):
        if DeltaTable.is_deltatable(spec.uri(warehouse)):  # corrections are made by whoever corrects first
            _describe(DeltaTable(spec.uri(warehouse)), spec)


def _keep_versions(table: DeltaTable, spec: TableSpec, keep: Keep | None) -> None:
    """Has a table keep its earlier versions for so long, by default as long as all tables do."""
    told = f"interval {keep.time_travel_ms // 1000} seconds" if keep else None
    wanted = {name: told or spec.properties[name] for name in VERSIONS_KEPT}
    found = table.metadata().configuration
    if any(found.get(name) != value for name, value in wanted.items()):
        table.alter.set_table_properties(wanted)


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


def check_results(warehouse: str, policy: Policy) -> None:
    """Raises SetUpError if something is no longer what its table was made for. Changes nothing."""
    for consumer in policy.consumers:
        if DeltaTable.is_deltatable(_uri(consumer.name, warehouse)):
            check_stored_report(consumer, warehouse)


def stored_report(name: str, warehouse: str) -> Report:
    """A report as its table tells of it. Raises SetUpError if there is none, or it is no report."""
    stored = _told(name, warehouse)
    if name == UserTotals.name:
        raise SetUpError(f"{name} has no windows that could be open: its table has all there is to see")
    return report_from_json({**stored, "name": name})


def stored_reports(names: Iterable[str], warehouse: str) -> list[Report]:
    """Those reports of which there is a table: a start that was cut off may not have come to make it."""
    return [stored_report(name, warehouse) for name in names if DeltaTable.is_deltatable(_uri(name, warehouse))]


def check_stored_report(report: Consumer, warehouse: str) -> dict[str, Any]:
    """The definition of a result table. Raises SetUpError if it is another than the settings', or there is no table."""
    wanted, found = _definition(report), _told(report.name, warehouse)
    different = [name for name in wanted if name != _FREE and found.get(name) != wanted[name]]
    if different:
        raise SetUpError(
            f"report {report.name} in the warehouse {warehouse} was made with "
            f"{', '.join(f'{name} = {found.get(name)}' for name in different)}, but the settings say "
            f"{', '.join(str(wanted[name]) for name in different)}. Set it back, or give the report another name"
        )
    return found


def _definition(consumer: Consumer) -> dict[str, Any]:
    """The part of a consumer that a table's rows depend on."""
    if isinstance(consumer, UserTotals):
        return asdict(consumer)
    return {name: value for name, value in report_to_json(consumer).items() if name != "name"}


def _told(name: str, warehouse: str) -> dict[str, Any]:
    uri = _uri(name, warehouse)
    if not DeltaTable.is_deltatable(uri):
        raise SetUpError(f"the warehouse {warehouse} has no report {name}: the service has yet to make it")
    found: dict[str, Any] = json.loads(DeltaTable(uri).metadata().configuration[_STORED_AS])
    return found


def _uri(name: str, warehouse: str) -> str:
    return f"{warehouse.rstrip('/')}/{name}"
