"""The tables of a warehouse, made where they do not exist yet; and what becomes of reports that come, change or go."""

import json
from collections.abc import Sequence
from typing import Any, Final

from deltalake import DeltaTable

from pipeline.errors import SetUpError
from pipeline.frames import columns as c
from pipeline.tables.housekeeping import pane_starts
from pipeline.tables.policies import report_of, told
from pipeline.tables.schemas import DEAD_LETTERS, PANES, open_table, result_of
from pipeline.time.report import Report

_MADE_AS: Final = "tidemark.report"
_FREE: Final = "allowed_lateness_ms"
"""May change, for panes do not depend on it."""


def create_tables(warehouse: str, reports: Sequence[Report]) -> list[str]:
    """Makes the tables that do not exist yet; returns a sentence on each report that came or went since.

    Raises SetUpError if a report is no longer what its table was made for.
    """
    used = DeltaTable.is_deltatable(PANES.uri(warehouse))
    new = [report.name for report in reports if not DeltaTable.is_deltatable(result_of(report).uri(warehouse))]
    for report in reports:
        _create(report, warehouse)
    for spec in (PANES, DEAD_LETTERS):
        open_table(spec, warehouse)
    if not used:
        return []
    gone = _without_settings(warehouse, reports)
    return [f"report {name} is new: it has the events from here on, not those before" for name in new] + [
        f"report {name} is no longer configured: its table stays as it is, what it had open is dropped" for name in gone
    ]


def _create(report: Report, warehouse: str) -> None:
    wanted = _definition(report)
    table = open_table(result_of(report), warehouse, {_MADE_AS: json.dumps(wanted)})
    if check_made_as(report, warehouse)[_FREE] != wanted[_FREE]:
        table.alter.set_table_properties({_MADE_AS: json.dumps(wanted)}, raise_if_not_exists=False)


def made_as(name: str, warehouse: str) -> Report:
    """A report as its table tells of it. Raises SetUpError if there is none."""
    return report_of({**_told(name, warehouse), "name": name})


def check_made_as(report: Report, warehouse: str) -> dict[str, Any]:
    """What a report's table was made for. Raises SetUpError if that is something else, or there is no table."""
    wanted, found = _definition(report), _told(report.name, warehouse)
    different = [name for name in wanted if name != _FREE and found.get(name) != wanted[name]]
    if different:
        raise SetUpError(
            f"report {report.name} in the warehouse {warehouse} was made with "
            f"{', '.join(f'{name} = {found.get(name)}' for name in different)}, but the settings say "
            f"{', '.join(str(wanted[name]) for name in different)}. Set it back, or give the report another name"
        )
    return found


def _definition(report: Report) -> dict[str, Any]:
    """What a table holds depends on it."""
    return {name: value for name, value in told(report).items() if name != "name"}


def _told(name: str, warehouse: str) -> dict[str, Any]:
    uri = f"{warehouse.rstrip('/')}/{name}"
    if not DeltaTable.is_deltatable(uri):
        raise SetUpError(f"the warehouse {warehouse} has no report {name}: the service has yet to make it")
    found: dict[str, Any] = json.loads(DeltaTable(uri).metadata().configuration[_MADE_AS])
    return found


def _without_settings(warehouse: str, reports: Sequence[Report]) -> list[str]:
    """Reports that have panes and are not configured any more; their panes go."""
    gone = sorted(pane_starts(warehouse).keys() - {report.name for report in reports})
    table = DeltaTable(PANES.uri(warehouse))
    for name in gone:
        table.delete(f"{c.REPORT} = '{name}'")
    return gone
