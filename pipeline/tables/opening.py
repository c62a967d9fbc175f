"""The opening of an epoch, as text in the ledger rows that open it: all that a reader needs who has no settings."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Self

from pipeline.errors import SetUpError
from pipeline.event_time import rules
from pipeline.event_time.policy import AllIdle, Policy, TimeOf
from pipeline.event_time.reports import Report
from pipeline.event_time.strategies import STRATEGIES
from pipeline.event_time.user_totals import UserTotals
from pipeline.event_time.windows.kinds import KINDS
from pipeline.pseudonyms import Pseudonyms

_NAMES: Final = {kind: name for name, kind in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Reset:
    """A watermark that was put back by hand, and why."""

    watermark: int
    reason: str


@dataclass(frozen=True, slots=True)
class Opening:
    """The rules of an epoch, and what it found when it began; times in milliseconds."""

    policy: Policy
    closed: Mapping[str, int]
    """By report, also those that are not configured now: windows that end no later were closed before."""
    cluster_id: str | None = None
    topic_id: str | None = None
    last_batch: int = 0
    """The last batch before the epoch that opened none; what the tables have of later ones is void."""
    reset: Reset | None = None
    pseudonyms: str | None = None
    """The fingerprint of the key by which users are hashed; None where they are in clear."""
    process: str | None = None
    """A random id of the process that opened the epoch, by which it knows its own; None for a verb."""

    def report(self, name: str) -> Report | None:
        """The report of this name, if the epoch has it."""
        return next((report for report in self.policy.reports if report.name == name), None)

    def to_text(self) -> str:
        """As JSON."""
        plain = asdict(self)
        plain["policy"]["strategy"]["kind"] = self.policy.strategy.kind
        plain["policy"]["reports"] = [report_to_json(report) for report in self.policy.reports]
        return json.dumps(plain)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The one that a text was made of; its reports know how far they were closed."""
        plain: dict[str, Any] = json.loads(text)
        policy, closed, reset = _policy_from_json(plain["policy"]), plain["closed"], plain["reset"]
        return cls(**{**plain, "policy": with_closed(policy, closed), "reset": Reset(**reset) if reset else None})


def with_closed(policy: Policy, closed: Mapping[str, int]) -> Policy:
    """The policy whose reports know how far they were closed before the epoch."""
    reports = (
        replace(report, closed_before_ms=closed.get(report.name, rules.NO_WATERMARK)) for report in policy.reports
    )
    return replace(policy, reports=tuple(reports))


def report_to_json(report: Report) -> dict[str, Any]:
    """A report as JSON has it; its windows say their kind. How far it was closed is no part of what it is."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(report)))
    del plain["closed_before_ms"]
    plain["windows"]["kind"] = _NAMES[type(report.windows)]
    return plain


def report_from_json(plain: Mapping[str, Any]) -> Report:
    """The report that JSON was made of."""
    windows = dict(plain["windows"])
    kind = KINDS[windows.pop("kind")]
    lists = {name: tuple(plain[name]) for name in ("keys", "measures")}
    return Report(**{**plain, **lists, "windows": kind(**windows)})


def _policy_from_json(plain: Mapping[str, Any]) -> Policy:
    strategy = dict(plain["strategy"])
    read = {
        "strategy": STRATEGIES[strategy.pop("kind")](**strategy),
        "reports": tuple(map(report_from_json, plain["reports"])),
        "totals": UserTotals(**plain["totals"]) if plain["totals"] else None,
        "time_of": TimeOf(plain["time_of"]),
        "all_idle": AllIdle(plain["all_idle"]),
    }
    return Policy(**{**plain, **read})


def require_key(how: Opening, pseudonyms: Pseudonyms | None, warehouse: str) -> None:
    """Raises SetUpError where users were known otherwise: then nobody would be who it was."""
    now = pseudonyms.fingerprint if pseudonyms else None
    if how.pseudonyms == now:
        return
    if now is None:
        found = "users by pseudonyms, but privacy.pseudonym_key_file is not set: name the file with its key"
    elif how.pseudonyms is None:
        found = "users in clear: unset privacy.pseudonym_key_file"
    else:
        found = "users by pseudonyms of another key than that of privacy.pseudonym_key_file: name the file with its key"
    raise SetUpError(f"the warehouse {warehouse} has {found}, or use a new warehouse")
