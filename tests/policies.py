"""Rules for tests to which only the reports matter."""

from pipeline.time.report import Report
from pipeline.time.strategies import Bounded
from pipeline.time.user_totals import UserTotals
from pipeline.time.verdicts import Policy


def policy_of(*reports: Report, totals: UserTotals | None = None) -> Policy:
    """No disorder is expected, and nothing is ever idle."""
    return Policy(strategy=Bounded(0), idle_timeout_ms=1, max_future_skew_ms=0, reports=reports, totals=totals)
