"""The rules of an epoch as text: what a reader needs who has the tables and not the settings."""

import json
from dataclasses import asdict
from typing import Any, Final

from pipeline.time.calendar import Calendar
from pipeline.time.grid import Grid
from pipeline.time.report import Report
from pipeline.time.sessions import Sessions
from pipeline.time.verdicts import AllIdle, Policy, Strategy, TimeOf

_KINDS: Final = {kind.__name__.lower(): kind for kind in (Grid, Calendar, Sessions)}


def to_text(policy: Policy) -> str:
    """A policy as JSON; each report's windows say their kind."""
    told = asdict(policy)
    for report, one in zip(told["reports"], policy.reports, strict=True):
        report["windows"]["kind"] = type(one.windows).__name__.lower()
    return json.dumps(told)


def from_text(text: str) -> Policy:
    """The policy that a text was made of."""
    told: dict[str, Any] = json.loads(text)
    enums = {"time_of": TimeOf, "strategy": Strategy, "all_idle": AllIdle}
    chosen = {name: kind(told[name]) for name, kind in enums.items()}
    return Policy(**{**told, **chosen, "reports": tuple(map(_report, told["reports"]))})


def _report(told: dict[str, Any]) -> Report:
    windows = dict(told["windows"])
    kind = _KINDS[windows.pop("kind")]
    return Report(**{**told, "windows": kind(**windows), "keys": tuple(told["keys"])})
