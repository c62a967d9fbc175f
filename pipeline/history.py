"""What a warehouse went through, read from its ledger and dead letters without Spark."""

from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipeline.errors import SetUpError
from pipeline.frames import columns as c
from pipeline.frames.groupings import groupings
from pipeline.tables.ledger import Ledger, require_warehouse
from pipeline.tables.schemas import DEAD_LETTERS, LEDGER
from pipeline.time.batch import EPOCH
from pipeline.time.lateness import too_late_at
from pipeline.time.strategies import Bounded
from pipeline.time.tradeoff import Ahead, History, Step
from pipeline.time.verdicts import Policy, TimeOf, Verdict

_EVENTS: Final = "SELECT epoch, sum(counted + too_late) AS events FROM ledger GROUP BY epoch"
_STEPS: Final = (
    "SELECT epoch, batch, max(watermark) AS watermark, max(committed_at) AS committed_at FROM ledger "
    "WHERE watermark IS NOT NULL GROUP BY epoch, batch ORDER BY batch"
)
_COUNTED: Final = (
    "SELECT epoch, one['slack_ms'] AS slack_ms, sum(one['records']) AS events "
    "FROM (SELECT epoch, unnest(slack) AS one FROM ledger) GROUP BY 1, 2"
)

Row = dict[str, Any]


def read_history(warehouse: str) -> History:
    """The epochs whose watermark was moved by a bound, with the bound of the newest.

    Raises SetUpError where there is no warehouse, where it has no events yet, or where no bound moves its watermark.
    """
    ledger = _Warehouse(warehouse)
    told = {epoch: opening.policy for epoch, opening in Ledger(warehouse).openings().items()}
    events = {row["epoch"]: row["events"] for row in ledger.ask(_EVENTS)}
    policies = {epoch: policy for epoch, policy in told.items() if isinstance(policy.strategy, Bounded)}
    bounds = {epoch: policy.strategy.idle_lag_ms for epoch, policy in policies.items()}
    newest = told[max(told)] if told else None
    if newest and newest not in policies.values():
        raise SetUpError(
            f"the watermark of {warehouse!r} is {newest.strategy.kind}: advice is for time.strategy bounded"
        )
    if not newest or not sum(events[epoch] for epoch in policies):
        raise SetUpError(f"the ledger at {warehouse!r} has no events yet: let a service run first")
    counted = [row for row in ledger.ask(_COUNTED) if row["epoch"] in policies]
    return History(
        bound_ms=newest.strategy.idle_lag_ms,
        events=sum(events[epoch] for epoch in policies),
        ahead=[Ahead(row["slack_ms"], bounds[row["epoch"]], row["events"]) for row in counted]
        + [one for epoch, policy in policies.items() for one in _too_late(ledger, epoch, policy)],
        steps=[
            Step(row[c.WATERMARK], bounds[row["epoch"]], row["committed_at"])
            for row in ledger.ask(_STEPS)
            if row["epoch"] in policies
        ],
        windows={one.windows for one in newest.reports if one.windows.by_time},
    )


class _Warehouse:
    """Answers SQL over the ledger and the dead letters."""

    def __init__(self, warehouse: str) -> None:
        require_warehouse(warehouse)
        self._tables = QueryBuilder()
        for spec in (LEDGER, DEAD_LETTERS):
            if DeltaTable.is_deltatable(spec.uri(warehouse)):
                self._tables = self._tables.register(spec.name, DeltaTable(spec.uri(warehouse)))

    def ask(self, sql: str) -> list[Row]:
        rows: list[Row] = pa.table(self._tables.execute(sql)).to_pylist()
        return rows


def _too_late(warehouse: _Warehouse, epoch: int, policy: Policy) -> list[Ahead]:
    """The dead letters of an epoch that were too late; those of a pane were so at the same watermark."""
    grid = groupings(policy.consumers)
    time = c.KAFKA_TIMESTAMP if policy.time_of is TimeOf.INGESTION else c.EVENT_TIME
    rows = warehouse.ask(
        f"SELECT ({time} + {grid.shift_ms}) / {grid.pane_ms} AS pane, {c.WATERMARK}, count(*) AS events "  # noqa: S608 - our own names
        f"FROM {DEAD_LETTERS.name} WHERE {c.REASON} = '{Verdict.TOO_LATE}' "
        f"AND {c.BATCH} BETWEEN {epoch * EPOCH} AND {(epoch + 1) * EPOCH - 1} "
        f"AND {c.BATCH} IN (SELECT {c.BATCH} FROM {LEDGER.name}) GROUP BY 1, 2"
    )
    return [_ahead(row["pane"] * grid.pane_ms - grid.shift_ms, row, policy) for row in rows]


def _ahead(pane: int, row: Row, policy: Policy) -> Ahead:
    return Ahead(too_late_at(policy.reports, pane) - row[c.WATERMARK], policy.strategy.idle_lag_ms, row["events"])
