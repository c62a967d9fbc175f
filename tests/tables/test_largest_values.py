"""Dimensions with a `top`: each window has its largest values and one row for all others, as a recount has them."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.conservation import assert_conserved
from tests.support.seeds import SEED, drawn
from tests.support.warehouse import milliseconds, rows
from tests.verify.site import MINUTE, POLICY, Event, Site
from tidemark.pipeline.event_time.dimensions import Dimension
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings
from tidemark.pipeline.tables.executors import SparkExecutors
from tidemark.pipeline.tables.large import NOTHING, LargeJobs
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.slow
PLAN = Dimension("plan", path="plan", top=2)
VALUES = ("a", "b", "c", "d", "", "(other)", "É", "z", None)
WINDOWS: dict[str, Grid | Cumulate | Calendar] = {
    "tumbling": Grid(10 * MINUTE, 10 * MINUTE),
    "sliding": Grid(10 * MINUTE, 5 * MINUTE),
    "cumulating": Cumulate(20 * MINUTE, 10 * MINUTE, 0),
    "calendar": Calendar(60 * MINUTE, "Europe/Berlin"),
}
REPORTS = (
    *(Report(name, windows, 5 * MINUTE, ("plan",), dimensions=(PLAN,)) for name, windows in WINDOWS.items()),
    Report(
        "pages",
        WINDOWS["tumbling"],
        5 * MINUTE,
        ("page_url", "plan"),
        measures=("clicks", "events", "first_seen"),
        dimensions=(PLAN,),
    ),
    Report(
        "begun",
        WINDOWS["sliding"],
        5 * MINUTE,
        ("plan",),
        measures=("page_views", "sessions_begun"),
        session_gap_ms=5 * MINUTE,
        dimensions=(PLAN,),
    ),
    Report(
        "both",
        WINDOWS["tumbling"],
        5 * MINUTE,
        ("city", "plan"),
        measures=("last_page_url", "unique_users"),
        dimensions=(Dimension("city", path="city", top=3), PLAN),
    ),
)
Row = tuple[Any, ...]


def sent(draw: Random) -> list[list[Event]]:
    """Returns batches of an hour, in which some events are late; the last event fires all windows."""
    values = draw.sample(VALUES, draw.randint(1, len(VALUES)))
    events = [
        Event(
            max(0.0, number / 2 - draw.choice([0, 1, 2, 6, 20])),
            draw.choice("xyz"),
            draw.choice(["/", "/a"]),
            click=draw.random() < 0.3,
            host=draw.choice(values[: draw.randint(1, len(values))]),
        )
        for number in range(120)
    ]
    cuts = sorted(draw.sample(range(1, 120), 5))
    return [events[start:end] for start, end in zip([0, *cuts], [*cuts, 120], strict=True)] + [[Event(200, host="a")]]


def recounted(report: Report, batches: Sequence[Sequence[Event]]) -> Counter[Row]:
    """Returns the rows as bounds, keys, numbers of other values, events and the rank's count; not of late events."""
    windows = defaultdict[tuple[int, int], list[Event]](list)
    watermark = None
    for batch in batches:
        for event in batch:
            for start, end in report.windows.of(event.time):
                if watermark is None or end + report.allowed_lateness_ms > watermark:
                    windows[start, end].append(event)
        watermark = max([watermark or 0, *(event.time for event in batch)])
    found = Counter[Row]()
    for (start, end), events in windows.items():
        if end <= (watermark or 0):
            found += counted_rows(report, start, end, events)
    return found


def counted_rows(report: Report, start: int, end: int, events: Sequence[Event]) -> Counter[Row]:
    """Returns the rows of one window."""
    counts = Counter[str | None]()
    for event in events:
        counts[event.host] += counts_for_rank(report, event)
    ranked = sorted(counts, key=lambda value: (-counts[value], value is None, (value or "").encode()))
    cells = defaultdict[Row, list[Event]](list)
    for event in events:
        largest = [event.host in ranked[: dimension.top] for dimension in report.dimensions]
        page = [event.page] if "page_url" in report.keys else []
        cells[(*page, *(event.host if own else None for own in largest), *largest)].append(event)
    return Counter(
        {
            (
                start,
                end,
                *keys[: len(report.keys)],
                *(0 if own else len({event.host for event in some}) for own in keys[len(report.keys) :]),
                *numbers(report, some),
            ): 1
            for keys, some in cells.items()
        }
    )


def counts_for_rank(report: Report, event: Event) -> int:
    first = next((name for name in ("page_views", "clicks", "events") if name in report.measures), "events")
    return {"page_views": not event.click, "clicks": event.click, "events": True}[first]


def numbers(report: Report, events: Sequence[Event]) -> Row:
    """Returns the measures of a row that are recounted here."""
    counts = {
        "page_views": sum(not event.click for event in events),
        "clicks": sum(event.click for event in events),
        "events": len(events),
        "unique_users": len({event.user for event in events}),
    }
    return tuple(counts[name] for name in counts if name in report.measures)


def shown(warehouse: Path, report: Report) -> Counter[Row]:
    """Returns the rows of a table as `recounted` does."""
    names = [name for name in ("page_views", "clicks", "events", "unique_users") if name in report.measures]
    return Counter(
        (
            milliseconds(row["window_start"]),
            milliseconds(row["window_end"]),
            *(row[name] for name in (*report.row_keys, *names)),
        )
        for row in rows(warehouse, report.name)
    )


def visits(*hosts: str | None) -> list[Event]:
    """Returns a visit with each of these values, in the first window."""
    return [Event(number / 4, host=host) for number, host in enumerate(hosts)]


#  values by visits, of equal ones in the order of their text, null last: two have a row, a late b takes that of (other)
@pytest.mark.parametrize(
    ("hosts", "rows_before", "rows_again"),
    [
        (["b", "a", None, "", "(other)", "a"], {("a", 0, 2), ("", 0, 1), (None, 3, 3)}, {("a", 0, 2), ("b", 0, 2)}),
        ([None, None, "", "", "c", "c"], {("", 0, 2), ("c", 0, 2), (None, 1, 2)}, {("", 0, 2), ("c", 0, 2)}),
        ([None, "(other)", None], {(None, 0, 2), ("(other)", 0, 1)}, {(None, 0, 2), ("(other)", 0, 1)}),
    ],
)
def test_equal_values_are_in_the_order_of_their_text_and_null_is_the_last(
    hosts: list[str | None], rows_before: set[Row], rows_again: set[Row], tmp_path: Path
) -> None:
    site = Site(tmp_path, replace(POLICY, reports=REPORTS[:1], totals=None)).open()

    def found() -> set[Row]:
        return {(row["plan"], row["plan_others"], row["page_views"]) for row in rows(tmp_path, "tumbling")}

    site.batch(*visits(*hosts)).batch(Event(11, host="z"))
    assert found() == rows_before
    site.batch(Event(9, host="b"))
    assert {row for row in found() if not row[1]} == rows_again
    assert sum(row[2] for row in found()) == len(hosts) + 1
    assert_conserved(tmp_path)


@pytest.mark.parametrize("seed", drawn(range(20), 2))
def test_a_window_has_its_largest_values_and_one_row_for_all_others(seed: int, tmp_path: Path) -> None:
    draw = Random(f"{SEED} {seed}")
    batches = sent(draw)
    site = Site(tmp_path, replace(POLICY, reports=REPORTS, totals=None), tuning=Tuning(merged_runs=2)).open()
    for batch in batches:
        site.batch(*batch)
        if draw.random() < 0.3:
            site.compact()
        if draw.random() < 0.3:
            site.open()
    for report in REPORTS:
        assert shown(tmp_path, report) == recounted(report, batches), report.name
    assert_conserved(tmp_path)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER))


@pytest.mark.jvm
@pytest.mark.parametrize("seed", drawn(range(6), 1))
def test_executors_publish_the_rows_of_the_driver(seed: int, tmp_path: Path, spark: SparkSession) -> None:
    batches = sent(Random(f"{SEED} {seed}"))
    reports = tuple(report for report in REPORTS if "unique_users" not in report.measures)
    policy = replace(POLICY, reports=reports, totals=None)
    for name, large in {"driver": NOTHING, "spark": LargeJobs(SparkExecutors(spark), 1)}.items():
        site = Site(tmp_path / name, policy, large=large).open()
        for batch in batches:
            site.batch(*batch)
    for report in reports:
        by_driver, by_spark = (sorted(map(str, rows(tmp_path / name, report.name))) for name in ("driver", "spark"))
        assert by_spark == by_driver, report.name
    assert_conserved(tmp_path / "spark")
