"""Reads the history of a warehouse from its ledger and dead letters, without Spark."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from deltalake import DeltaTable

from tidemark.command_line.counts import counted
from tidemark.pipeline import columns as c
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.checks import Check, reason_of
from tidemark.pipeline.event_time.lateness import late_at, too_late_at
from tidemark.pipeline.event_time.policy import Policy, TimeOf, Verdict
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.fold.grouping_sets import groupings
from tidemark.pipeline.reading.advice.tradeoff import BoundStep, EventHistory, EventsBySlack
from tidemark.pipeline.reading.ledger_summary import unjudged_sql
from tidemark.pipeline.tables.ledger import Ledger, require_warehouse
from tidemark.pipeline.tables.query import rows_of
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, LEDGER, find_table

_EVENTS_SQL: Final = (
    "SELECT epoch, sum(CASE WHEN watermark_before IS NULL THEN too_late ELSE counted + too_late END) AS judged, "
    "{unjudged} FROM ledger GROUP BY epoch"
)
_STEPS_SQL: Final = (
    "SELECT epoch, batch, max(watermark) AS watermark, max(committed_at) AS committed_at FROM ledger "
    "WHERE watermark IS NOT NULL GROUP BY epoch, batch ORDER BY batch"
)
_COUNTED_SQL: Final = (
    "SELECT epoch, bucket['slack_ms'] AS slack_ms, sum(bucket['records']) AS events "
    "FROM (SELECT epoch, unnest(slack) AS bucket FROM ledger) GROUP BY 1, 2"
)

_TOO_LATE: Final = f"'{Verdict.TOO_LATE}'"
_LATE: Final = f"{_TOO_LATE}, '{reason_of(Check.PARTLY_LATE)}'"


def read_history(warehouse: str) -> EventHistory:
    """Returns the epochs with the strategy `bounded`, and the bound of the newest.

    Raises SetUpError if there is no warehouse, if no watermark has judged an event of it yet, or if its newest epoch
    has another strategy, or judges by arrival.
    """
    require_warehouse(warehouse)
    tables = {spec.name: table for spec in (LEDGER, DEAD_LETTERS) if (table := find_table(spec.name, warehouse))}
    policies_of_all = {epoch: opening.policy for epoch, opening in Ledger(warehouse).openings().items()}
    policies = {
        epoch: policy
        for epoch, policy in policies_of_all.items()
        if isinstance(policy.strategy, Bounded) and not policy.by_arrival
    }
    bounds = {epoch: policy.strategy.delay_ms for epoch, policy in policies.items()}
    newest = max(policies_of_all, default=0)
    if newest and newest not in policies:
        raise _without_estimates(warehouse, policies_of_all[newest])
    judged, unjudged = _event_counts(warehouse, tables, policies)
    by_slack = [row for row in rows_of(_COUNTED_SQL, **tables) if row["epoch"] in policies]
    return EventHistory(
        bound_ms=bounds[newest],
        events=judged,
        unjudged=unjudged,
        by_slack=[EventsBySlack(row["slack_ms"], bounds[row["epoch"]], row["events"]) for row in by_slack]
        + [late for epoch, policy in policies.items() for late in _late(tables, epoch, policy, too_late_at, _TOO_LATE)],
        late_by_slack=[
            late for epoch, policy in policies.items() for late in _late(tables, epoch, policy, late_at, _LATE)
        ],
        steps=[
            BoundStep(row[c.WATERMARK], bounds[row["epoch"]], row["committed_at"])
            for row in rows_of(_STEPS_SQL, **tables)
            if row["epoch"] in policies
        ],
        windows={report.windows for report in policies[newest].reports if report.windows.by_time},
    )


def _without_estimates(warehouse: str, policy: Policy) -> SetUpError:
    if policy.by_arrival:
        return SetUpError(
            f"the records of {warehouse!r} are judged by arrival: estimates need time.judged batch, because the ledger "
            "does not have how late each of these records was"
        )
    return SetUpError(
        f"the watermark of {warehouse!r} is {policy.strategy.kind}: only time.strategy bounded has estimates"
    )


def _event_counts(warehouse: str, tables: Mapping[str, DeltaTable], epochs: Collection[int]) -> tuple[int, int]:
    """Returns the numbers of events that a watermark judged, and that were read before there was a watermark.

    Raises SetUpError if no watermark judged an event of `epochs`.
    """
    rows = [
        row
        for row in rows_of(_EVENTS_SQL.format(unjudged=unjudged_sql(tables[LEDGER.name])), **tables)
        if row["epoch"] in epochs
    ]
    judged, unjudged = (sum(row[name] for row in rows) for name in ("judged", "unjudged"))
    if judged:
        return judged, unjudged
    if unjudged:
        raise SetUpError(
            f"there is no estimate for {counted(unjudged, 'event')} at {warehouse!r}: all were read before there was a "
            "watermark, let the service read on"
        )
    raise SetUpError(f"the ledger at {warehouse!r} has no events yet: let a service run first")


def _late(
    tables: Mapping[str, DeltaTable],
    epoch: int,
    policy: Policy,
    late_from: Callable[[Sequence[Report], int], int],
    reasons: str,
) -> list[EventsBySlack]:
    """Counts the dead letters of an epoch by slack, which pane and watermark determine.

    `reasons` are SQL literals. `late_from` returns the watermark from which an event at a given time is late.
    """
    grid = groupings(policy.consumers)
    time = c.KAFKA_TIMESTAMP if policy.time_of is TimeOf.INGESTION else c.EVENT_TIME
    rows = rows_of(
        f"SELECT ({time} + {grid.shift_ms}) / {grid.pane_ms} * {grid.pane_ms} - {grid.shift_ms} AS pane, "  # noqa: S608 - our own names
        f"{c.WATERMARK}, count(*) AS events FROM {DEAD_LETTERS.name} WHERE {c.REASON} IN ({reasons}) "
        f"AND {c.BATCH} BETWEEN {epoch * EPOCH} AND {(epoch + 1) * EPOCH - 1} "
        f"AND {c.BATCH} IN (SELECT {c.BATCH} FROM {LEDGER.name}) GROUP BY 1, 2",
        **tables,
    )
    reports, bound_ms = policy.reports, policy.strategy.delay_ms
    return [EventsBySlack(late_from(reports, row["pane"]) - row[c.WATERMARK], bound_ms, row["events"]) for row in rows]
