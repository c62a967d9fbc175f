"""The opening of an epoch, stored in the ledger rows that open it, so that readers need no settings."""

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
    """A watermark that was lowered by hand, and the reason."""

    watermark: int
    reason: str


@dataclass(frozen=True, slots=True)
class Opening:
    """The rules of an epoch, and the state at its start; times in milliseconds."""

    policy: Policy
    closed: Mapping[str, int]
    """By report, also for reports that are no longer configured, the end up to which windows were closed before."""
    cluster_id: str | None = None
    topic_id: str | None = None
    last_batch: int = 0
    """The last batch before the epoch, without openings; rows of later batches are uncommitted."""
    reset: Reset | None = None
    pseudonyms: str | None = None
    """The fingerprint of the key of pseudonyms; None if users are stored in clear."""
    process: str | None = None
    """A random id by which the process that opened the epoch recognises it; None for a verb."""

    def report(self, name: str) -> Report | None:
        """Returns the report of this name, None if the epoch does not have it."""
        return next((report for report in self.policy.reports if report.name == name), None)

    def to_text(self) -> str:
        """Returns the opening as JSON."""
        plain = asdict(self)
        plain["policy"]["strategy"]["kind"] = self.policy.strategy.kind
        plain["policy"]["reports"] = [report_to_json(report) for report in self.policy.reports]
        return json.dumps(plain)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Returns the opening that `to_text` wrote; its reports have `closed_before_ms`."""
        plain: dict[str, Any] = json.loads(text)
        policy, closed, reset = _policy_from_json(plain["policy"]), plain["closed"], plain["reset"]
        return cls(**{**plain, "policy": with_closed(policy, closed), "reset": Reset(**reset) if reset else None})


def with_closed(policy: Policy, closed: Mapping[str, int]) -> Policy:
    """Returns the policy with `closed_before_ms` of each report, from ends by report name in milliseconds."""
    reports = (
        replace(report, closed_before_ms=closed.get(report.name, rules.NO_WATERMARK)) for report in policy.reports
    )
    return replace(policy, reports=tuple(reports))


def report_to_json(report: Report) -> dict[str, Any]:
    """Returns a report as JSON, with the kind of its windows and without `closed_before_ms`."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(report)))
    del plain["closed_before_ms"]
    plain["windows"]["kind"] = _NAMES[type(report.windows)]
    return plain


def report_from_json(plain: Mapping[str, Any]) -> Report:
    """Returns the report that `report_to_json` wrote."""
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


def require_key(opening: Opening, pseudonyms: Pseudonyms | None, warehouse: str) -> None:
    """Raises SetUpError unless users have pseudonyms of the same key as before, or, as before, no pseudonyms."""
    now = pseudonyms.fingerprint if pseudonyms else None
    if opening.pseudonyms == now:
        return
    if now is None:
        found = "users by pseudonyms, but privacy.pseudonym_key_file is not set: name the file with its key"
    elif opening.pseudonyms is None:
        found = "users in clear: unset privacy.pseudonym_key_file"
    else:
        found = "users by pseudonyms of another key than that of privacy.pseudonym_key_file: name the file with its key"
    raise SetUpError(f"the warehouse {warehouse} has {found}, or use a new warehouse")
