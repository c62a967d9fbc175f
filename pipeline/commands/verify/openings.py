"""The rows that open an epoch: by which rules it goes, what was closed already, and from where it counts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.event_time.policy import Policy
from pipeline.event_time.report import Report
from pipeline.tables.policies import policy_from_json


@dataclass(frozen=True, slots=True)
class Opening:
    """The begin of an epoch; times in milliseconds."""

    policy: Policy
    closed: Mapping[str, int]
    """By report: windows that end no later were closed."""
    reset: int | None
    """The watermark to which the epoch went back, if it did."""

    def has(self, name: str) -> bool:
        """Whether the epoch keeps a result of this name."""
        return any(one.name == name for one in self.policy.consumers)

    def report(self, name: str) -> Report | None:
        """The report of this name, if the epoch has it."""
        return next((report for report in self.policy.reports if report.name == name), None)


def opening_of(text: str) -> Opening:
    """Raises ValueError, KeyError or TypeError where a text tells of no opening."""
    plain = json.loads(text)
    reset = plain["reset"]
    return Opening(
        policy_from_json(plain["policy"]), dict(plain["closed"]), None if reset is None else int(reset["watermark"])
    )
