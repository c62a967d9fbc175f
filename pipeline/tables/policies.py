"""The rules of an epoch as text: what a reader needs who has the tables and not the settings."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from pipeline.event_time.policy import AllIdle, Policy, TimeOf
from pipeline.event_time.report import Report
from pipeline.event_time.strategies import STRATEGIES
from pipeline.event_time.user_totals import UserTotals
from pipeline.event_time.windows.base import Windows
from pipeline.event_time.windows.calendar import Calendar
from pipeline.event_time.windows.count import Counts
from pipeline.event_time.windows.cumulate import Cumulate
from pipeline.event_time.windows.grid import Grid
from pipeline.event_time.windows.session import Sessions

_KINDS: Final[Mapping[str, type[Windows]]] = {
    "calendar": Calendar,
    "counts": Counts,
    "cumulate": Cumulate,
    "grid": Grid,
    "sessions": Sessions,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


def policy_to_json(policy: Policy) -> dict[str, Any]:
    """A policy as JSON has it."""
    plain = asdict(policy)
    strategy = {**plain["strategy"], "kind": policy.strategy.kind}
    return {**plain, "strategy": strategy, "reports": [report_to_json(report) for report in policy.reports]}


def report_to_json(report: Report) -> dict[str, Any]:
    """A report as JSON has it; its windows say their kind. How far it was closed is no part of what it is."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(report)))
    del plain["closed_before_ms"]
    plain["windows"]["kind"] = _NAMES[type(report.windows)]
    return plain


def policy_from_json(plain: Mapping[str, Any]) -> Policy:
    """The policy that JSON was made of."""
    enums = {"time_of": TimeOf, "all_idle": AllIdle}
    chosen = {name: kind(plain[name]) for name, kind in enums.items()}
    strategy = dict(plain["strategy"])
    return Policy(
        **{
            **plain,
            **chosen,
            "strategy": STRATEGIES[strategy.pop("kind")](**strategy),
            "reports": tuple(map(report_from_json, plain["reports"])),
            "totals": UserTotals(**plain["totals"]) if plain["totals"] else None,
        }
    )


def report_from_json(plain: Mapping[str, Any]) -> Report:
    """The report that was `told`."""
    windows = dict(plain["windows"])
    kind = _KINDS[windows.pop("kind")]
    lists = {name: tuple(plain[name]) for name in ("keys", "measures")}
    return Report(**{**plain, **lists, "windows": kind(**windows)})
