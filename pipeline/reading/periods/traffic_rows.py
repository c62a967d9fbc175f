"""The answer as rows, one for each number: CSV and Parquet. docs/dashboard.md documents the columns."""

import csv
import io
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tidemark.pipeline.reading.periods.period_traffic import PeriodTraffic
from tidemark.pipeline.reading.periods.traffic_json import BAR_STATES, Json, as_json
from tidemark.pipeline.reading.shell_output import harmless_cell

COLUMNS: Final = (
    *("part", "key", "start", "end", "measure", "value", "exact", "state", "covered_from", "covered_until"),
    *("may_change_until", "reason", "compared_value", "compared_with", "compared_start", "compared_end", "change"),
)
"""The columns, in order."""
_TIMES: Final = (
    *("start", "end", "covered_from", "covered_until", "may_change_until", "compared_start", "compared_end"),
)
_NUMBERS: Final = ("value", "compared_value", "compared_with", "change")
_STATES: Final = ("state", "covered_from", "covered_until", "may_change_until", "reason")
_BARS: Final = {"page_views": "", "visitors": "visitors_"}
"""The numbers of a bar, and the prefix of the members with their state."""


def as_csv(traffic: PeriodTraffic) -> str:
    """Returns the CSV of `/traffic.csv`: a line for each number, harmless to spreadsheets."""
    text = io.StringIO()
    rows = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    rows.writeheader()
    for row in _rows(as_json(traffic)):
        rows.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue()


def as_parquet(traffic: PeriodTraffic) -> bytes:
    """Returns the Parquet file of `/traffic.parquet`: a row for each number, with typed columns and plain texts."""
    zone = traffic.question.period.zone.key
    types = {
        **dict.fromkeys(COLUMNS, pa.string()),
        **dict.fromkeys(_TIMES, pa.timestamp("ms", tz=zone)),
        **dict.fromkeys(_NUMBERS, pa.float64()),
        "exact": pa.bool_(),
    }
    rows = [
        {name: datetime.fromisoformat(value) if name in _TIMES and value else value for name, value in row.items()}
        for row in _rows(as_json(traffic))
    ]
    columns = {name: pa.array([row.get(name) for row in rows], kind) for name, kind in types.items()}
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def _cell(value: Any) -> Any:
    """Returns a value as CSV has it; without line breaks, of which a page may have any kind."""
    if isinstance(value, bool):
        return str(value).lower()
    return harmless_cell(value) if isinstance(value, str) else value


def _rows(answer: Json) -> Iterator[Json]:
    """Yields a row for each number of the object."""
    period = _bounds(answer["period"])
    for name, figure in answer["figures"].items():
        yield from _figure_rows(name, figure, period)
    for bar in answer["series"]:
        for name, prefix in _BARS.items():
            states = {key: bar[f"{prefix}{key}"] for key in BAR_STATES}
            yield {"part": "series", "measure": name, "value": bar[name], **_bounds(bar), **states}
    for name, breakdown in answer["breakdowns"].items():
        yield from _breakdown_rows(breakdown, {"part": name, **period, **{key: breakdown[key] for key in _STATES}})


def _bounds(span: Json) -> Json:
    return {name: span[name] for name in ("start", "end")}


def _breakdown_rows(breakdown: Json, shared: Json) -> Iterator[Json]:
    for listed in breakdown["rows"]:
        numbers = {measure: value for measure, value in listed.items() if measure != "key"}
        for measure, value in numbers.items():
            is_about = measure in breakdown.get("overlap", {}) or measure in breakdown.get("about", {})
            exact = {"exact": False} if is_about else {}
            yield {**shared, **exact, "key": listed["key"], "measure": measure, "value": value}
    if breakdown["rest_rows"]:
        for measure, value in breakdown["rest"].items():
            yield {**shared, "measure": f"{measure}.rest", "value": value}


def _figure_rows(name: str, figure: Json, period: Json) -> Iterator[Json]:
    compared = figure["compared"] or {}
    sides = {f"compared_{key}": compared.get(key) for key in ("value", "with", "start", "end")}
    row = {**period, **{key: figure[key] for key in _STATES}, "part": "figure", "exact": figure["exact"]}
    yield {**row, "measure": name, "value": figure["value"], **sides, "change": compared.get("change")}
    for more in ("mean", "mean_page_views", "still_going"):
        if more in figure:
            yield {**row, "measure": f"{name}.{more}", "value": figure[more]}
