"""The rules of an epoch as text: what a reader needs who has the tables and not the settings."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from pipeline.time.calendar import Calendar
from pipeline.time.counts import Counts
from pipeline.time.grid import Grid
from pipeline.time.report import Report
from pipeline.time.sessions import Sessions
from pipeline.time.totals import Totals
from pipeline.time.verdicts import AllIdle, Policy, Strategy, TimeOf

_KINDS: Final = {kind.__name__.lower(): kind for kind in (Calendar, Counts, Grid, Sessions, Totals)}


def policy_to_json(policy: Policy) -> dict[str, Any]:
    """A policy as JSON has it."""
    return {**asdict(policy), "reports": [told(report) for report in policy.reports]}


def told(report: Report) -> dict[str, Any]:
    """A report as JSON has it; its windows say their kind. How far it was closed is no part of what it is."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(report)))
    del plain["closed_before_ms"]
    plain["windows"]["kind"] = type(report.windows).__name__.lower()
    return plain


def policy_from_json(plain: Mapping[str, Any]) -> Policy:
    """The policy that JSON was made of."""
    enums = {"time_of": TimeOf, "strategy": Strategy, "all_idle": AllIdle}
    chosen = {name: kind(plain[name]) for name, kind in enums.items()}
    return Policy(**{**plain, **chosen, "reports": tuple(map(report_of, plain["reports"]))})


def report_of(plain: Mapping[str, Any]) -> Report:
    """The report that was `told`."""
    windows = dict(plain["windows"])
    kind = _KINDS[windows.pop("kind")]
    lists = {name: tuple(plain[name]) for name in ("keys", "measures")}
    return Report(**{**plain, **lists, "windows": kind(**windows)})
