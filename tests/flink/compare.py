"""Puts what Flink did and what a transcript says in the same words: by step the watermark, the rows, what was late."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.flink.flink_job import OLDER_API, job_of
from tests.flink.results import Played
from tests.transcripts.transcript import Report, Step, Transcript, vacant
from tests.transcripts.transcript_files import expected_rows

Key = tuple[str | int, ...]
"""The values of a report's keys, then window start and end."""
Rows = Mapping[Key, tuple[int, ...]]
"""The measures, by default page views and clicks."""


@dataclass(frozen=True)
class Outcome:
    """The outcomes of a step; `changed` and `gone` are by report, `late` and `partly` are users and event times."""

    watermark: int | None
    changed: Mapping[str, Rows]
    gone: Mapping[str, set[Key]]
    late: list[tuple[str, int]]
    partly: list[tuple[str, int]]


def flinks(played: Played, transcript: Transcript, run: str) -> Iterator[Outcome]:
    """Yields Flink's last result of each window, because Flink fires per late event and Tidemark once per batch."""
    reports = job_of(transcript, run)["reports"]
    tables: dict[str, Rows] = {report["name"]: {} for report in reports}
    watermark = None
    for step in played["steps"]:
        before = dict(tables)
        for report in reports:
            name = report["name"]
            tables[name] = _after(before[name], step["reports"][name]["fired"], report, watermark)
        watermark = _watermark(step["watermark"], run)
        late, partly = _late([step["reports"][name]["late"] for name in tables])
        yield Outcome(
            watermark=watermark,
            changed={name: _changed(before[name], rows) for name, rows in tables.items()},
            gone={name: before[name].keys() - rows.keys() for name, rows in tables.items()},
            late=late,
            partly=partly,
        )


def tidemarks(transcript: Transcript) -> Iterator[Outcome]:
    """Returns the outcomes that a transcript expects."""
    names = [report.name for report in transcript.reports]
    for step in transcript.steps:
        gone = step.expected.get("gone", {})
        yield Outcome(
            watermark=step.expected["watermark"],
            changed={report.name: _expected(step, report) for report in transcript.reports},
            gone={name: {tuple(key) for key in gone.get(name, [])} for name in names},
            late=_rejected(step, "dead"),
            partly=_rejected(step, "partly"),
        )


def _expected(step: Step, report: Report) -> Rows:
    """The new or changed rows of a report, without how many events were late, which Flink does not count."""
    return {key: values[:-1] for key, values in expected_rows(step.expected, report.name, report.columns).items()}


def _rejected(step: Step, word: str) -> list[tuple[str, int]]:
    return sorted((user, at) for user, at in step.expected.get(word, []))


def _watermark(flinks: int | None, run: str) -> int | None:
    """Flink's t says that all up to t has come, Tidemark's that all before t has.

    The older API mixes both meanings, which is why it fires a millisecond early.
    """
    return flinks if flinks is None or run == OLDER_API else flinks + 1


def _after(before: Rows, fired: list[list[Any]], report: Mapping[str, Any], watermark: int | None) -> Rows:
    """A table after what fired. A session that became part of another goes: Flink leaves that to its reader.

    A closed session is part of no other, so a new session may overlap it. The watermark is from before the step. A
    count window is always new, even at the times of another.
    """
    rows, width, kind = dict(before), len(report["keys"]) + 2, report["window"]["kind"]
    for cell in sorted(fired, key=lambda cell: cell[width:]) if kind == "count" else fired:
        new, values = tuple(cell[:width]), tuple(cell[width:])
        if kind == "session":
            closed = -math.inf if watermark is None else watermark - report["allowedLateness"]
            rows = {key: row for key, row in rows.items() if int(key[-1]) <= closed or not _overlap(key, new)}
        rows[vacant(new, rows) if kind == "count" else new] = values
    return rows


def _overlap(one: Key, other: Key) -> bool:
    (*one_keys, start, end), (*other_keys, other_start, other_end) = one, other
    return one_keys == other_keys and int(start) <= int(other_end) and int(other_start) <= int(end)


def _changed(before: Rows, rows: Rows) -> Rows:
    return {key: counts for key, counts in rows.items() if before.get(key) != counts}


def _late(reports: list[list[list[Any]]]) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Late for every report, and late for some of them only."""
    counted = [Counter((user, at) for user, at in late) for late in reports]
    everywhere, anywhere = counted[0], counted[0]
    for late in counted[1:]:
        everywhere, anywhere = everywhere & late, anywhere | late
    return sorted(everywhere.elements()), sorted((anywhere - everywhere).elements())
