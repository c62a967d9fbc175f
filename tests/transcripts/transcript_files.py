"""Reads the transcripts of this folder and their expected results."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.yaml_text import parsed
from tests.transcripts.transcript import DEFAULTS, EPOCH, RowKey, Seen, Sent, Step, Tables, Transcript, milliseconds

HERE = Path(__file__).parent
_REPORT = {"keys", "where", "window", "allowed_lateness", "measures", "session_gap"}
_KINDS = ("visit", "click", "login", "purchase")
_INPUTS = {"send", "wait", "restart", "unread"}
_EXPECTED = {"watermark", "published", "clicks", "tables", "gone", "dead", "future", "partly", "batches", "duplicates"}


@cache
def transcripts_of(subject: str) -> list[Transcript]:
    """Returns the transcripts of the file of a subject."""
    return [_transcript(entry) for entry in parsed((HERE / f"{subject}.yaml").read_text())]


def subjects() -> list[str]:
    """Returns the subjects, each of which has a file of transcripts."""
    return sorted(path.stem for path in HERE.glob("*.yaml"))


def transcripts() -> list[Transcript]:
    """Returns the transcripts of all files."""
    return [transcript for subject in subjects() for transcript in transcripts_of(subject)]


def check(step: Step, transcript: Transcript, before: Tables, seen: Seen) -> None:
    """Compares the tables with the expectations of a step; `before` are the tables before the step."""
    assert seen.watermark == step.expected["watermark"]
    assert seen.duplicates == step.expected.get("duplicates", 0)
    for name, columns in transcript.tables.items():
        old, new = before.get(name, {}), seen.tables[name]
        changed = {key: row for key, row in new.items() if old.get(key) != row}
        values = {key: tuple(row.values[column] for column in columns) for key, row in changed.items()}
        assert values == expected_rows(step.expected, name, columns), name
        assert old.keys() - new.keys() == {tuple(key) for key in step.expected.get("gone", {}).get(name, [])}, name
        for *key, batch in _batches(step.expected).get(name, []):
            assert new[tuple(key)].batch % EPOCH == batch, name
    for reason, word in {"too_late": "dead", "future": "future", "partly_late": "partly"}.items():
        expected = sorted((user, at) for user, at in step.expected.get(word, []))
        assert [(user, at) for user, at, why in seen.dead if why == reason] == expected, reason


def expected_rows(step: Mapping[str, Any], name: str, columns: Sequence[str]) -> Mapping[RowKey, tuple[Any, ...]]:
    """The rows of a table that must be new or changed: the values of its columns by key."""
    table: list[list[Any]] = step.get("tables", {}).get(name, [])
    cells: list[list[Any]] = [[tuple(cell) if isinstance(cell, list) else cell for cell in row] for row in table]
    rows = {tuple(row[: -len(columns)]): tuple(row[-len(columns) :]) for row in cells}
    if name == "page_views":
        clicks = {tuple(row[:3]): row[3] for row in step.get("clicks", [])}
        assert clicks.keys() <= {tuple(row[:3]) for row in step.get("published", [])}
        rows |= {tuple(row[:3]): (row[3], clicks.get(tuple(row[:3]), 0), row[4]) for row in step.get("published", [])}
    return rows


def _batches(expected: Mapping[str, Any]) -> Mapping[str, Sequence[Any]]:
    batches = expected.get("batches", {})
    return batches if isinstance(batches, dict) else {"page_views": batches}


def _transcript(entry: Mapping[str, Any]) -> Transcript:
    entry = _in_milliseconds(entry)
    # An unknown word would be an expectation that no test checks.
    assert entry.keys() == {"name", "settings", "steps"}
    restarts = [step["restart"] for step in entry["steps"] if isinstance(step.get("restart"), dict)]
    for settings in (entry["settings"], *restarts):
        assert settings.keys() <= DEFAULTS.keys(), entry["name"]
        assert all(report.keys() <= _REPORT for report in settings.get("reports", {}).values()), entry["name"]
    return Transcript(entry["name"], entry["settings"], tuple(_step(step) for step in entry["steps"]))


def _step(fields: Mapping[str, Any]) -> Step:
    assert fields.keys() <= _INPUTS | _EXPECTED, fields
    sent = tuple(_sent(*entry) for entry in fields.get("send", []))
    expected = {name: value for name, value in fields.items() if name in _EXPECTED}
    wait_ms = milliseconds(fields.get("wait", "0s"))
    return Step(sent, wait_ms, expected, fields.get("restart", False), fields.get("unread", False))


def _sent(partition: int, user: str, event_time: int, *more: str | int) -> Sent:
    """The words after the time are distinguished by their form: a kind, a Kafka timestamp, a page, `id 1`."""
    words = [word for word in more if isinstance(word, str)]
    pages = [word for word in words if word.startswith("/")]
    acts = [word for word in words if word in _KINDS]
    ids = [word for word in words if word.startswith("id ")]
    stamps = [word for word in more if isinstance(word, int)]
    assert len(pages) + len(acts) + len(ids) + len(stamps) == len(more), more
    assert max(len(pages), len(acts), len(ids), len(stamps)) <= 1, more
    act, page = "".join(acts) or "visit", "".join(pages) or "/"
    return Sent(partition, user, event_time, act, sum(stamps), page, "".join(ids))


def _in_milliseconds(node: Any) -> Any:
    """Replaces times such as 2026-03-29T01:00:00+01:00 in the text by milliseconds since 1970."""
    if isinstance(node, dict):
        return {key: _in_milliseconds(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_in_milliseconds(value) for value in node]
    return round(node.timestamp() * 1000) if isinstance(node, datetime) else node
