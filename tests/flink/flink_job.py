"""Flink's input of a transcript: the settings that Flink has, too, and the records; never the expected results."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from tests.transcripts.transcript import Report, Sent, Step, Transcript

AHEAD_OF_UTC_MS = {"Asia/Kolkata": 19_800_000}
"""Zones whose clocks are never changed, so that an offset does. Flink has no windows by the clocks of a zone."""

ONE_READER, READER_PER_PARTITION, OLDER_API = "one_reader", "a_reader_per_partition", "older_api"
RUNS = (ONE_READER, READER_PER_PARTITION, OLDER_API)
"""Flink takes the minimum over partitions in the source's reader, or, if each has its own, in the window operator."""


def job_of(transcript: Transcript, run: str) -> dict[str, Any]:
    """Returns what `stepped/Told.java` reads; times and durations in milliseconds."""
    partitions = transcript.value("partitions")
    return {
        "name": transcript.name,
        "partitions": partitions,
        "readers": partitions if run == READER_PER_PARTITION else 1,
        "clock": transcript.value("clock"),
        "time": _time(transcript, run),
        "reports": [_report(report) for report in transcript.reports],
        "steps": [{"waitMs": step.wait_ms, "send": list(map(_event, _in_order(step)))} for step in transcript.steps],
    }


def _in_order(step: Step) -> list[Sent]:
    """By partition and then offset, which is Tidemark's order where one is asked for."""
    return sorted(step.send, key=lambda sent: sent.partition)


def fingerprint(job: Mapping[str, Any]) -> str:
    """Returns a hash of Flink's input, and of nothing else."""
    return hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()[:16]


def _report(report: Report) -> dict[str, Any]:
    return {
        "name": report.name,
        "keys": list(report.keys),
        "where": _condition(report.where),
        "window": _window(report.window),
        "allowedLateness": report.allowed_lateness_ms,
        "measures": list(report.measures),
    }


def _window(window: Mapping[str, Any]) -> dict[str, Any]:
    if "gap" in window:
        return {"kind": "session", "size": window["gap"], "slide": 0, "offset": 0}
    if "count" in window:
        return {"kind": "count", "size": window["count"], "slide": window.get("slide", 0), "offset": 0}
    if "step" in window:
        size, offset = window["size"], window.get("offset", 0)
        return {"kind": "growing", "size": size, "slide": window["step"], "offset": offset % size}
    size, slide = window["size"], window.get("slide", window["size"])
    offset = -AHEAD_OF_UTC_MS[window["zone"]] if "zone" in window else window.get("offset", 0)
    # Flink refuses an offset of a slide or more; the remainder makes the same windows.
    kind = "sliding" if "slide" in window else "tumbling"
    return {"kind": kind, "size": size, "slide": slide, "offset": offset % slide}


def _time(transcript: Transcript, run: str) -> dict[str, Any]:
    return {
        "of": transcript.value("of"),
        "strategy": "older" if run == OLDER_API else transcript.value("strategy"),
        "marker": _condition(transcript.value("marker")),
        "bound": transcript.milliseconds("bound"),
        "lag": transcript.milliseconds("lag"),
        "idleTimeout": transcript.milliseconds("idle_timeout"),
    }


def _condition(sql: str) -> dict[str, Any]:
    """A condition such as `event_type = 'click'` or `page_url <> '/'`, or None."""
    if not sql:
        return {"field": "", "equal": True, "value": ""}
    found = re.fullmatch(r"(\w+) (=|<>) '(.*)'", sql)
    assert found, f"the Java program does not know {sql!r}"
    return {"field": found[1], "equal": found[2] == "=", "value": found[3]}


def _event(sent: Sent) -> dict[str, Any]:
    return {
        "partition": sent.partition,
        "user": sent.user,
        "eventTime": sent.event_time,
        "act": sent.act,
        "kafkaTimestamp": sent.stamp,
        "page": sent.page,
    }
