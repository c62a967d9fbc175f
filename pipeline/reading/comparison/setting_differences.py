"""Differences between the settings of two warehouses, and what was done to them by hand. Pure, but for counts."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Final

from tidemark.command_line.counts import counted
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.reading.comparison.side import Side
from tidemark.pipeline.settings.warehouse_policy import POLICY_SETTINGS
from tidemark.pipeline.tables.opening import Opening, report_to_json
from tidemark.pipeline.tables.schemas import CORRECTIONS, ERASURES

_OF_TABLES: Final = ("reports", "totals")
_WHAT_ROWS_ARE: Final = ("keys", "where", "windows", "dimensions", "session_gap_ms")
"""The parts of a report's definition without which rows of two tables mean different things."""


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting that differs, with both values as text."""

    setting: str
    warehouse: str
    other: str


def setting_differences(one: Side, other: Side) -> list[SettingDifference]:
    """Returns the settings that differ, of the newest openings: of the policy, of fields, and of each report."""
    differences = [*_of_policy(one.opening, other.opening), *_of_meaning(one.opening, other.opening)]
    if one.opening.pseudonyms != other.opening.pseudonyms:
        texts = (_key_text(side.opening.pseudonyms) for side in (one, other))
        differences.append(SettingDifference("privacy.pseudonym_key_file", *texts))
    for name in [*dict.fromkeys([*one.reports, *other.reports])]:
        differences += _of_report(name, one.reports.get(name), other.reports.get(name))
    return differences


def have_same_rows(one: Report, other: Report) -> bool:
    """Returns whether the rows of two reports mean the same: their keys, filter and windows are equal."""
    return not any(name in _WHAT_ROWS_ARE for name in different_parts(one, other))


def different_parts(one: Report, other: Report) -> dict[str, tuple[Any, Any]]:
    """Returns the parts of two definitions that differ, with both values, by name."""
    first, second = report_to_json(one), report_to_json(other)
    pairs = {name: (first.get(name), second.get(name)) for name in {**first, **second}}
    return {name: values for name, values in pairs.items() if values[0] != values[1]}


def common_measures(one: Report, other: Report) -> list[str]:
    """Returns the measures that both reports define alike."""
    defined = {measure.name: measure for measure in other.chosen_measures}
    return [measure.name for measure in one.chosen_measures if defined.get(measure.name) == measure]


def done_by_hand(sides: tuple[Side, Side]) -> Iterator[str]:
    """Yields sentences on what one side may have alone: other settings before, resets, corrections, lost records."""
    for side in sides:
        openings = [side.openings[epoch] for epoch in sorted(side.openings)]
        changed = sum(_rules(one) != _rules(following) for one, following in pairwise(openings))
        resets = sum(opening.reset is not None for opening in openings)
        counts = {
            "settings changed": (changed, "time"),
            "watermark lowered by hand": (resets, "time"),
            "corrected": (_row_count(side, CORRECTIONS.name), "event of a window"),
            "erased": (_row_count(side, ERASURES.name), "table of a user"),
            "lost in Kafka before they were read": (side.summary.account.lost, "record"),
        }
        for what, (count, noun) in counts.items():
            if count:
                yield f"{side.name}: {what}: {counted(count, noun, _plural(noun))}"


def _plural(noun: str) -> str:
    head, _, rest = noun.partition(" ")
    return f"{head}s {rest}".strip()


def _rules(opening: Opening) -> tuple[Any, ...]:
    reports = [report_to_json(report) for report in opening.policy.reports]
    return _policy(opening), reports, opening.meaning


def _policy(opening: Opening) -> dict[str, Any]:
    plain = {name: value for name, value in asdict(opening.policy).items() if name not in _OF_TABLES}
    return plain | {"strategy": {"kind": opening.policy.strategy.kind, **plain["strategy"]}}


def _of_policy(one: Opening, other: Opening) -> Iterator[SettingDifference]:
    first, second = _policy(one), _policy(other)
    for field, value in first.items():
        if value != second[field]:
            yield SettingDifference(", ".join(POLICY_SETTINGS[field]), _text(value), _text(second[field]))
    totals = [None if each.policy.totals is None else asdict(each.policy.totals) for each in (one, other)]
    if totals[0] != totals[1]:
        yield SettingDifference("totals", *map(_text, totals))


def _of_meaning(one: Opening, other: Opening) -> Iterator[SettingDifference]:
    first, second = one.meaning or {}, other.meaning or {}
    for name in sorted({**first, **second}):
        if first.get(name) != second.get(name):
            yield SettingDifference(name, _text(first.get(name)), _text(second.get(name)))


def _of_report(name: str, one: Report | None, other: Report | None) -> list[SettingDifference]:
    if one is None or other is None:
        return [
            SettingDifference(f"reports.{name}", *("no such report" if it is None else "set" for it in (one, other)))
        ]
    return [
        SettingDifference(f"reports.{name}.{part.removesuffix('_ms')}", *map(_text, values))
        for part, values in different_parts(one, other).items()
    ]


def _row_count(side: Side, name: str) -> int:
    return 0 if name not in side.tables else side.tables[name].count()


def _key_text(fingerprint: str | None) -> str:
    return "users in clear" if fingerprint is None else f"key {fingerprint}"


def _text(value: Mapping[str, Any] | object) -> str:
    return "not set" if value is None else json.dumps(value, default=str)
