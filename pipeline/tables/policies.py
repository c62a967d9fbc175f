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


def to_text(policy: Policy) -> str:
    """A policy as JSON."""
    return json.dumps({**asdict(policy), "reports": [told(report) for report in policy.reports]})


def opening(policy: Policy) -> str:
    """What the row says that opens an epoch, as JSON."""
    nothing: dict[str, Any] = {"closed": {}, "cluster_id": None, "topic_id": None, "reset": None}
    return json.dumps({"policy": json.loads(to_text(policy)), **nothing})


def policy_of(opening: str) -> Policy:
    """The policy that the row tells of that opened an epoch."""
    return from_text(json.dumps(json.loads(opening)["policy"]))


def told(report: Report) -> dict[str, Any]:
    """A report as JSON has it; its windows say their kind."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(report)))
    plain["windows"]["kind"] = type(report.windows).__name__.lower()
    return plain


def from_text(text: str) -> Policy:
    """The policy that a text was made of."""
    plain: dict[str, Any] = json.loads(text)
    enums = {"time_of": TimeOf, "strategy": Strategy, "all_idle": AllIdle}
    chosen = {name: kind(plain[name]) for name, kind in enums.items()}
    return Policy(**{**plain, **chosen, "reports": tuple(map(report_of, plain["reports"]))})


def report_of(plain: Mapping[str, Any]) -> Report:
    """The report that was `told`."""
    windows = dict(plain["windows"])
    kind = _KINDS[windows.pop("kind")]
    lists = {name: tuple(plain[name]) for name in ("keys", "measures")}
    return Report(**{**plain, **lists, "windows": kind(**windows)})
