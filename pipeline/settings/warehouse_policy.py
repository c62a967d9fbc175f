"""The policy of a verb that works on an existing warehouse: the warehouse's own, except for what the settings name."""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import Final

from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.settings.model import Settings

POLICY_SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "strategy": ("time.strategy", "time.marker", "time.lag", "time.bound"),
    "idle_timeout_ms": ("time.idle_timeout",),
    "max_future_skew_ms": ("time.max_future_skew",),
    "reports": ("reports", "window", "site"),
    "totals": ("totals",),
    "time_of": ("time.of",),
    "all_idle": ("time.all_idle",),
    "judged": ("time.judged",),
    "settling_ms": ("time.settling",),
    "max_ahead_ms": ("time.max_ahead_of_clock",),
    "max_age_ms": ("time.max_age",),
    "caps_watermark": ("time.of", "time.max_ahead_of_clock"),
    "deduplicate": ("deduplicate",),
    "leaves_out_kinds": ("schemas.mapping.other_kinds",),
    "has_other_kinds": ("schemas.mapping.kinds", "schemas.mapping.kind"),
    "leaves_out_tombstones": ("kafka.tombstones",),
}
"""The settings and sections that determine each field of a policy."""


def policy_of(settings: Settings, opened: Policy) -> Policy:
    """Returns `opened`, the policy of a ledger's newest opening, with the fields for which `settings` name a value.

    Defaults do not count, because the service may have had other settings. The caller checks that reports of the
    settings are those of the tables.
    """
    configured = settings.policy()
    named = [field for field, names in POLICY_SETTINGS.items() if any(_is_named(settings, name) for name in names)]
    return replace(opened, **{field: getattr(configured, field) for field in named})


def _is_named(settings: Settings, name: str) -> bool:
    """Tests whether a setting or section such as `time.bound` has another source than its default."""
    *sections, last = name.split(".")
    return last in reduce(getattr, sections, settings).model_fields_set
