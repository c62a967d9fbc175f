"""Annotations on the chart of the first page: numbers on its axis, and a list with their texts. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tidemark.pipeline.reading.periods.period import Period
from tidemark.pipeline.reading.window_names import moment_text
from tidemark.pipeline.web.dashboard.annotations import Annotation

_NEAR: Final = 4.0
"""Marks that are nearer than this, in percent of the width, become one."""


@dataclass(frozen=True, slots=True)
class Note:
    """An annotation in words."""

    number: int
    kind: str
    when: str
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Numbers of annotations on the axis; positions in percent of the width."""

    x: float
    label: str
    spans: list[tuple[float, float]]
    """Start and width of the annotations that last."""


def notes_of(annotations: Sequence[Annotation], period: Period) -> tuple[list[Note], list[Mark]]:
    """Returns the list of annotations, and their marks, of a chart of the period."""
    notes = [
        Note(number, each.kind, moment_text(each.start, period.zone), each.text)
        for number, each in enumerate(annotations, 1)
    ]
    groups = list[list[tuple[int, Annotation]]]()
    for number, each in enumerate(annotations, 1):
        if groups and _at(each.start, period) - _at(groups[-1][0][1].start, period) < _NEAR:
            groups[-1].append((number, each))
        else:
            groups.append([(number, each)])
    return notes, [_mark(group, period) for group in groups]


def _mark(group: Sequence[tuple[int, Annotation]], period: Period) -> Mark:
    first, last = group[0][0], group[-1][0]
    spans = [
        (_at(each.start, period), round(_at(each.end, period) - _at(each.start, period), 2))
        for _, each in group
        if each.end > each.start
    ]
    return Mark(_at(group[0][1].start, period), f"{first}" if first == last else f"{first}\u2013{last}", spans)


def _at(time: int, period: Period) -> float:
    return round(100 * (time - period.start) / (period.end - period.start), 2)
