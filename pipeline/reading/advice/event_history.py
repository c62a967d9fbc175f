"""The history of a warehouse, read from its ledger and dead letters without Spark."""

from collections.abc import Mapping
from typing import Final

from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.errors import SetUpError
from pipeline.event_time.batch import EPOCH
from pipeline.event_time.lateness import too_late_at
from pipeline.event_time.policy import Policy, TimeOf, Verdict
from pipeline.event_time.strategies import Bounded
from pipeline.fold.grouping_sets import groupings
from pipeline.reading.advice.tradeoff import BoundStep, EventHistory, EventsBySlack
from pipeline.tables.ledger import Ledger, require_warehouse
from pipeline.tables.query import rows_of
from pipeline.tables.schemas import DEAD_LETTERS, LEDGER, find_table

_EVENTS: Final = "SELECT epoch, sum(counted + too_late) AS events FROM ledger GROUP BY epoch"
_STEPS: Final = (
    "SELECT epoch, batch, max(watermark) AS watermark, max(committed_at) AS committed_at FROM ledger "
    "WHERE watermark IS NOT NULL GROUP BY epoch, batch ORDER BY batch"
)
_COUNTED: Final = (
    "SELECT epoch, one['slack_ms'] AS slack_ms, sum(one['records']) AS events "
    "FROM (SELECT epoch, unnest(slack) AS one FROM ledger) GROUP BY 1, 2"
)


def read_history(warehouse: str) -> EventHistory:
    """The epochs whose watermark was moved by a bound, with the bound of the newest.

    Raises SetUpError where there is no warehouse, where it has no events yet, or where no bound moves its watermark.
    """
    require_warehouse(warehouse)
    tables = {spec.name: table for spec in (LEDGER, DEAD_LETTERS) if (table := find_table(spec.name, warehouse))}
    told = {epoch: opening.policy for epoch, opening in Ledger(warehouse).openings().items()}
    events = {row["epoch"]: row["events"] for row in rows_of(_EVENTS, **tables)}
    policies = {epoch: policy for epoch, policy in told.items() if isinstance(policy.strategy, Bounded)}
    bounds = {epoch: policy.strategy.idle_lag_ms for epoch, policy in policies.items()}
    newest = told[max(told)] if told else None
    if newest and newest not in policies.values():
        raise SetUpError(
            f"the watermark of {warehouse!r} is {newest.strategy.kind}: advice is for time.strategy bounded"
        )
    if not newest or not sum(events[epoch] for epoch in policies):
        raise SetUpError(f"the ledger at {warehouse!r} has no events yet: let a service run first")
    counted = [row for row in rows_of(_COUNTED, **tables) if row["epoch"] in policies]
    return EventHistory(
        bound_ms=newest.strategy.idle_lag_ms,
        events=sum(events[epoch] for epoch in policies),
        ahead=[EventsBySlack(row["slack_ms"], bounds[row["epoch"]], row["events"]) for row in counted]
        + [one for epoch, policy in policies.items() for one in _too_late(tables, epoch, policy)],
        steps=[
            BoundStep(row[c.WATERMARK], bounds[row["epoch"]], row["committed_at"])
            for row in rows_of(_STEPS, **tables)
            if row["epoch"] in policies
        ],
        windows={one.windows for one in newest.reports if one.windows.by_time},
    )


def _too_late(tables: Mapping[str, DeltaTable], epoch: int, policy: Policy) -> list[EventsBySlack]:
    """The dead letters of an epoch that were too late; those of a pane were so at the same watermark."""
    grid = groupings(policy.consumers)
    time = c.KAFKA_TIMESTAMP if policy.time_of is TimeOf.INGESTION else c.EVENT_TIME
    rows = rows_of(
        f"SELECT ({time} + {grid.shift_ms}) / {grid.pane_ms} * {grid.pane_ms} - {grid.shift_ms} AS pane, "  # noqa: S608 - our own names
        f"{c.WATERMARK}, count(*) AS events FROM {DEAD_LETTERS.name} WHERE {c.REASON} = '{Verdict.TOO_LATE}' "
        f"AND {c.BATCH} BETWEEN {epoch * EPOCH} AND {(epoch + 1) * EPOCH - 1} "
        f"AND {c.BATCH} IN (SELECT {c.BATCH} FROM {LEDGER.name}) GROUP BY 1, 2",
        **tables,
    )
    reports, bound_ms = policy.reports, policy.strategy.idle_lag_ms
    return [
        EventsBySlack(too_late_at(reports, row["pane"]) - row[c.WATERMARK], bound_ms, row["events"]) for row in rows
    ]
