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
_INPUTS = {"send", "wait", "restart", "unread"}
_TOLD = {"watermark", "published", "clicks", "tables", "gone", "dead", "future", "partly", "batches", "duplicates"}


@cache
def transcripts() -> list[Transcript]:
    """All of them, from every file."""
    return [_transcript(told) for path in sorted(HERE.glob("*.yaml")) for told in parsed(path.read_text())]


def check(step: Step, transcript: Transcript, before: Tables, seen: Seen) -> None:
    """Compares the tables with the expectations of a step; `before` are the tables before the step."""
    assert seen.watermark == step.tells["watermark"]
    assert seen.duplicates == step.tells.get("duplicates", 0)
    for name, columns in transcript.tables.items():
        old, new = before.get(name, {}), seen.tables[name]
        changed = {key: row for key, row in new.items() if old.get(key) != row}
        values = {key: tuple(row.values[column] for column in columns) for key, row in changed.items()}
        assert values == told_rows(step.tells, name, columns), name
        assert old.keys() - new.keys() == {tuple(key) for key in step.tells.get("gone", {}).get(name, [])}, name
        for *key, batch in _batches(step.tells).get(name, []):
            assert new[tuple(key)].batch % EPOCH == batch, name
    for reason, word in {"too_late": "dead", "future": "future", "partly_late": "partly"}.items():
        told = sorted((user, at) for user, at in step.tells.get(word, []))
        assert [(user, at) for user, at, why in seen.dead if why == reason] == told, reason


def told_rows(tells: Mapping[str, Any], name: str, columns: Sequence[str]) -> Mapping[RowKey, tuple[int, ...]]:
    """The rows of a table that must be new or changed: the values of its columns by key."""
    rows = {tuple(row[: -len(columns)]): tuple(row[-len(columns) :]) for row in tells.get("tables", {}).get(name, [])}
    if name == "page_views":
        clicks = {tuple(row[:3]): row[3] for row in tells.get("clicks", [])}
        assert clicks.keys() <= {tuple(row[:3]) for row in tells.get("published", [])}
        rows |= {tuple(row[:3]): (row[3], clicks.get(tuple(row[:3]), 0), row[4]) for row in tells.get("published", [])}
    return rows


def _batches(tells: Mapping[str, Any]) -> Mapping[str, Sequence[Any]]:
    told = tells.get("batches", {})
    return told if isinstance(told, dict) else {"page_views": told}


def _transcript(told: Mapping[str, Any]) -> Transcript:
    told = _in_milliseconds(told)
    # An unknown word would be an expectation that no test checks.
    assert told.keys() == {"name", "settings", "steps"}
    restarts = [step["restart"] for step in told["steps"] if isinstance(step.get("restart"), dict)]
    for settings in (told["settings"], *restarts):
        assert settings.keys() <= DEFAULTS.keys(), told["name"]
        assert all(report.keys() <= _REPORT for report in settings.get("reports", {}).values()), told["name"]
    return Transcript(told["name"], told["settings"], tuple(_step(step) for step in told["steps"]))


def _step(told: Mapping[str, Any]) -> Step:
    assert told.keys() <= _INPUTS | _TOLD, told
    sent = tuple(_sent(*entry) for entry in told.get("send", []))
    tells = {name: value for name, value in told.items() if name in _TOLD}
    wait_ms = milliseconds(told.get("wait", "0s"))
    return Step(sent, wait_ms, tells, told.get("restart", False), told.get("unread", False))


def _sent(partition: int, user: str, event_time: int, *more: str | int) -> Sent:
    """The words after the time are distinguished by their form: visit or click, a Kafka timestamp, a page, `id 1`."""
    words = [one for one in more if isinstance(one, str)]
    pages = [word for word in words if word.startswith("/")]
    acts = [word for word in words if word in ("visit", "click")]
    ids = [word for word in words if word.startswith("id ")]
    stamps = [one for one in more if isinstance(one, int)]
    assert len(pages) + len(acts) + len(ids) + len(stamps) == len(more), more
    assert max(len(pages), len(acts), len(ids), len(stamps)) <= 1, more
    act, page = "".join(acts) or "visit", "".join(pages) or "/"
    return Sent(partition, user, event_time, act, sum(stamps), page, "".join(ids))


def _in_milliseconds(told: Any) -> Any:
    """Replaces times such as 2026-03-29T01:00:00+01:00 in the text by milliseconds since 1970."""
    if isinstance(told, dict):
        return {key: _in_milliseconds(value) for key, value in told.items()}
    if isinstance(told, list):
        return [_in_milliseconds(value) for value in told]
    return round(told.timestamp() * 1000) if isinstance(told, datetime) else told
