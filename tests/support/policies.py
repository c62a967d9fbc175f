"""Rules for tests to which only the reports matter."""

from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.user_totals import UserTotals


def policy_of(*reports: Report, totals: UserTotals | None = None) -> Policy:
    """No disorder is expected, and nothing is ever idle."""
    return Policy(strategy=Bounded(0), idle_timeout_ms=1, max_future_skew_ms=0, reports=reports, totals=totals)
