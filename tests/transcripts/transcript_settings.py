"""The settings of a transcript: as sections of the service's settings, and as the policy of the pure core."""

import json
from functools import cache
from typing import Any

from tests.transcripts.page_fields import FIELDS
from tests.transcripts.transcript import Transcript
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.settings.model import Settings

_TIME = [
    *("bound", "allowed_lateness", "idle_timeout", "max_future_skew", "max_ahead_of_clock", "max_age"),
    *("of", "strategy", "marker", "lag", "all_idle"),
]


def sections_of(transcript: Transcript) -> dict[str, Any]:
    """Returns the sections that a transcript sets."""
    sections: dict[str, Any] = {
        "time": {name: transcript.value(name) for name in _TIME},
        "window": transcript.window,
        "reports": transcript.value("reports"),
        "deduplicate": transcript.value("deduplicate"),
    }
    if transcript.has_other_kinds:
        kinds = {kind: kind for kind in transcript.kinds}
        sections["schemas"] = {"format": "json", "mapping": {"kinds": kinds}}
    named = {measure for report in transcript.reports for measure in report.measures}
    if fields := {name: FIELDS[name] for name in sorted(named & FIELDS.keys())}:
        sections["measures"] = fields
    if totals := transcript.value("totals"):
        sections["totals"] = totals
    if at_most := transcript.value("max_records"):
        sections["batch"] = {"max_records": at_most}
    return sections


def policy_of(transcript: Transcript) -> Policy:
    """Returns the policy of a transcript."""
    return _policy(json.dumps(sections_of(transcript)))


@cache
def _policy(sections: str) -> Policy:
    """Returns the policy of sections in JSON; each transcript is played many times."""
    return Settings(**json.loads(sections)).policy()
