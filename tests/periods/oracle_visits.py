"""Figures of visits by brute force from raw events."""

from statistics import mean, median
from typing import Any, Final

from tests.periods.raw_case import RawCase
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.session import Sessions

NO_TIME: Final = -(2**62)


def measured(case: RawCase, report: Report, start: int, until: int, end: int) -> dict[str, dict[str, Any]]:
    """Returns the figures of the visits that began in `[start, until)`, in a period that ends at `end`."""
    watermark, page = case.watermark or NO_TIME, case.page
    windows, lateness = report.windows, report.allowed_lateness_ms
    assert isinstance(windows, Sessions)
    began = [visit for visit in case.visits(report) if start <= visit.start < until and page in ("", visit.entry)]
    ended = [visit for visit in began if visit.end <= watermark]
    going = len(began) - len(ended)
    closes = end - 1 + windows.gap_ms + lateness
    state = "so far" if until < end else "final" if closes <= watermark else "complete"
    ends = [visit.end + lateness for visit in began]
    is_over = all(each <= watermark for each in ends)
    of_ended = "so far" if state == "so far" or going else "final" if state == "final" and is_over else "complete"
    durations = [visit.duration_ms for visit in ended]
    changes = {"complete": closes}.get(state)
    changes_ended = max(changes or 0, *ends, 0) if of_ended == "complete" else None
    rate = sum(visit.bounced for visit in ended) / len(ended) if ended else None
    return {
        "visits": {"value": len(began), "state": state, "may_change_until": changes},
        "bounce_rate": {"value": rate, "state": of_ended, "may_change_until": changes_ended},
        "visit_seconds": {
            "value": median(durations) / 1000 if durations else None,
            "mean": mean(durations) / 1000 if durations else None,
            "state": of_ended,
            "may_change_until": changes_ended,
        },
    }
