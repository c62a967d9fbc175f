"""Compares the table of a contestant with the truth, class by class. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.duel.scenario import MUST_COUNT, Cell, Kind, kind_of


@dataclass(frozen=True, slots=True)
class Verdict:
    """Distinct events of a class: `sent`, of these `counted` in their window, and `said` to be rejected.

    `doubled` is how often events were counted in addition to their first time.
    """

    sent: int
    counted: int
    doubled: int
    said: int

    @property
    def silent(self) -> int:
        """Number of events that are neither counted nor reported."""
        return self.sent - self.counted - self.said


@dataclass(frozen=True, slots=True)
class Summary:
    """The answers of a duel. `lost`, `rejected` and `doubled` are about events that must count once."""

    lost: int
    """Events that must count, neither counted nor reported."""
    rejected: int
    """Events that must count, reported as late instead."""
    doubled: int
    """Counts too many, without those of repeated events and of aborted ones."""
    repeats: int
    """Repeated events that were counted twice."""
    aborted: int
    """Events of the aborted transaction that were counted."""
    late: Verdict
    future: Verdict
    malformed: Verdict

    @property
    def correct(self) -> bool:
        """Whether nothing was lost, wrongly rejected, doubled or dropped in silence."""
        wrong = self.lost + self.rejected + self.doubled + self.repeats + self.aborted
        return not wrong + sum(verdict.silent for verdict in (self.late, self.future, self.malformed))


def judge(
    truth: Mapping[Cell, int], malformed: int, table: Mapping[Cell, int], said: Mapping[Kind, int]
) -> dict[Kind, Verdict]:
    """Returns the verdict on each class.

    `truth` has the distinct events of each cell, `malformed` the number of malformed records, `table` the counts that a
    reader of the contestant's table sees, and `said` the records that the contestant reported as rejected.
    """
    sent, counted, doubled = Counter[Kind](), Counter[Kind](), Counter[Kind]()
    for cell in {*truth, *table}:
        if kind := kind_of(cell[0]):
            right, found = truth.get(cell, 0), table.get(cell, 0)
            sent[kind] += right
            counted[kind] += min(right, found)
            doubled[kind] += max(found - right, 0)
    sent[Kind.MALFORMED] += malformed
    return {
        kind: Verdict(sent[kind], counted[kind], doubled[kind], min(said.get(kind, 0), sent[kind] - counted[kind]))
        for kind in Kind
    }


def summary(verdicts: Mapping[Kind, Verdict]) -> Summary:
    """Returns the answers that the verdicts give."""
    must = [verdicts[kind] for kind in MUST_COUNT]
    others = {kind: verdict for kind, verdict in verdicts.items() if kind not in (Kind.REPEATED, Kind.ABORTED)}
    return Summary(
        lost=sum(verdict.silent for verdict in must),
        rejected=sum(verdict.said for verdict in must),
        doubled=sum(verdict.doubled for verdict in others.values()),
        repeats=verdicts[Kind.REPEATED].doubled,
        aborted=verdicts[Kind.ABORTED].counted + verdicts[Kind.ABORTED].doubled,
        late=verdicts[Kind.LATE],
        future=verdicts[Kind.FUTURE],
        malformed=verdicts[Kind.MALFORMED],
    )
