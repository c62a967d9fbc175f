"""`/traffic.json` and `/traffic.csv`, over a warehouse as the service writes it."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.dashboard.scene import Served, hanging, serving
from tests.periods.traffic_site import BERLIN, FIRST, FORMULA, REPORTS, SECOND, THIRD, asked, day
from tests.verify.site import MINUTE, NOON, POLICY, Event, Site
from tidemark.pipeline.reading.periods.ask import Words
from tidemark.pipeline.reading.periods.period_report import period_traffic
from tidemark.pipeline.reading.periods.traffic_rows import COLUMNS

pytestmark = pytest.mark.slow


def test_a_whole_day_has_the_figures_of_its_events(served: Served) -> None:
    answer = asked(served, day(SECOND))
    period, figures = answer["period"], answer["figures"]
    assert (period["start"], period["end"], period["zone"]) == (
        f"{SECOND}T00:00:00+02:00",
        f"{THIRD}T00:00:00+02:00",
        BERLIN,
    )
    assert (period["state"], period["final_until"]) == ("final", period["end"])
    # Twelve times ann's visit with two events and bob's single view, and cid's last event but one.
    assert {name: figure["value"] for name, figure in figures.items()} == {
        "visitors": 2,
        "visits": 24,
        "page_views": 24,
        "clicks": 12,
        "bounce_rate": 0.5,
        "visit_seconds": 30.0,
        "new_visitors": 0,
    }
    assert {figure["state"] for figure in figures.values()} == {"final"}
    assert figures["visit_seconds"]["mean"] == 30.0
    assert [bar["page_views"] for bar in answer["series"]] == [2, 0] * 12
    assert [bar["visitors"] for bar in answer["series"]] == [2, 0] * 12
    assert answer["breakdowns"]["users"]["rows"] == [
        {"key": "ann", "page_views": 12, "clicks": 12},
        {"key": "bob", "page_views": 12, "clicks": 0},
    ]


def test_a_day_that_has_not_ended_covers_the_windows_that_have_fired(served: Served) -> None:
    answer = asked(served, f"{day(THIRD)}&compare=previous")
    period, figures = answer["period"], answer["figures"]
    assert (period["state"], period["covered_until"]) == ("so far", f"{THIRD}T02:39:00+02:00")
    views, visitors = figures["page_views"], figures["visitors"]
    assert (views["value"], views["covered_until"]) == (3, period["covered_until"])
    # Hours are the shortest windows with users.
    assert (visitors["value"], visitors["covered_until"]) == (3, f"{THIRD}T02:00:00+02:00")
    assert (views["compared"]["value"], views["compared"]["with"]) == (3, 3)
    assert views["compared"]["end"] == f"{SECOND}T02:39:00+02:00"
    assert visitors["compared"] == {
        "value": 2,
        "with": 3,
        "start": f"{SECOND}T00:00:00+02:00",
        "end": f"{SECOND}T02:00:00+02:00",
        "until": f"{THIRD}T02:00:00+02:00",
        "state": "final",
        "change": 0.5,
        "reason": None,
    }
    assert (figures["visits"]["value"], figures["visits"]["still_going"]) == (3, 0)
    assert answer["series"][5] == {
        "start": f"{THIRD}T05:00:00+02:00",
        "end": f"{THIRD}T06:00:00+02:00",
        "page_views": None,
        "visitors": None,
        "state": "unknown",
        "covered_from": None,
        "covered_until": None,
        "visitors_state": "unknown",
        "visitors_covered_from": None,
        "visitors_covered_until": None,
    }


def test_what_was_before_the_first_event_is_unknown_and_not_0(served: Served) -> None:
    figures = asked(served, f"{day(FIRST)}&compare=previous")["figures"]
    assert figures["page_views"]["value"] == 10
    views = figures["page_views"]
    assert (views["state"], views["covered_from"]) == ("partial", f"{FIRST}T14:00:00+02:00")
    assert views["reason"] == f"times before the first event, of {FIRST}T14:00:00+02:00, are unknown"
    assert {figure["state"] for figure in figures.values()} == {"partial"}
    assert figures["page_views"]["compared"]["value"] is None
    assert "it starts before the first event, of" in figures["page_views"]["compared"]["reason"]
    before = asked(served, day("2024-04-30"))
    assert {figure["state"] for figure in before["figures"].values()} == {"unknown"}
    assert "it is before the first event, of 2024-05-01T14:00:00+02:00" in before["period"]["reason"]


def test_a_day_after_the_watermark_says_where_that_is(served: Served) -> None:
    reason = asked(served, day("2024-05-04"))["period"]["reason"]
    assert reason == f"nothing of the period is complete yet: events are complete until {THIRD}T02:39:00+02:00"


def test_another_zone_is_tiled_where_windows_fit_it_and_else_refused_in_a_sentence(served: Served) -> None:
    figures = asked(served, f"{day(SECOND)}&zone=Asia/Kolkata")["figures"]
    assert figures["page_views"]["value"] == 24
    assert figures["visitors"]["value"] is None
    assert "no windows of the reports fit the days of Asia/Kolkata" in figures["visitors"]["reason"]
    assert asked(served, f"{day(SECOND)}&zone=America/New_York")["figures"]["visitors"]["value"] == 3


def test_a_page_has_figures_of_its_own(served: Served) -> None:
    answer = asked(served, f"{day(SECOND)}&page_url=/a")
    figures = answer["figures"]
    assert (figures["page_views"]["value"], figures["clicks"]["value"]) == (0, 12)
    assert (figures["visitors"]["value"], figures["visitors"]["exact"], figures["visitors"]["error"]) == (
        1,
        False,
        0.016,
    )
    assert "leave out page_url" in figures["new_visitors"]["reason"]
    assert [row["key"] for row in answer["breakdowns"]["pages"]["rows"]] == ["/a"]
    users = answer["breakdowns"]["users"]
    assert (users["state"], users["rows"]) == ("unknown", [])
    assert users["reason"] == (
        "no report has page views and clicks by page_url and user_id: add a report with the keys page_url and user_id"
    )


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("period=8d", "'8d' is no period: write today, yesterday, 7d"),
        ("compare=month", "compare is 'month': write none, previous, week, year"),
        ("zone=Mars/Base", "there is no time zone 'Mars/Base'"),
        ("perod=7d", "there is no parameter 'perod': the parameters are period, compare, zone, page_url"),
        ("period=7d&period=28d", "a parameter is given twice: leave one out"),
        (f"page_url={'a' * 9000}", "page_url has 9,000 characters: at most 8,192 are allowed"),
        ("period=2011-12-30..2011-12-30&zone=Pacific/Apia", "Pacific/Apia had no 2011-12-30"),
    ],
)
@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_question_that_cannot_be_is_refused_in_a_sentence(
    served: Served, form: str, question: str, sentence: str
) -> None:
    answer = served.get(f"/traffic.{form}?{question}")
    assert answer.status == 400
    assert sentence in json.loads(answer.text)["error"]


def test_answers_have_the_headers_of_pages_and_need_the_token(served: Served, warehouse: Path) -> None:
    page, answer = served.get("/"), served.get(f"/traffic.csv?{day(SECOND)}")
    for name in ("Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cache-Control"):
        assert page.headers[name] == answer.headers[name]
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    with serving(warehouse, token="t" * 16) as guarded:
        assert guarded.ask("/traffic.json").status == 401
        assert guarded.get(f"/traffic.json?{day(SECOND)}", Authorization=f"Bearer {'t' * 16}").status == 200


def test_the_csv_has_a_line_for_each_number_and_no_formulas(served: Served) -> None:
    text = served.get(f"/traffic.csv?{day(SECOND)}&compare=previous").text
    lines = [*csv.DictReader(io.StringIO(text))]
    assert [*lines[0]] == [*COLUMNS]
    views = [line for line in lines if (line["part"], line["measure"]) == ("figure", "page_views")]
    assert [(line["value"], line["state"], line["exact"]) for line in views] == [("24", "final", "true")]
    keys = {line["key"]: line["value"] for line in lines if (line["part"], line["measure"]) == ("pages", "page_views")}
    assert keys == {"/": "12", "/a": "0", f"'{FORMULA}": "12"}


def test_the_parquet_file_has_the_rows_of_the_csv_with_types(served: Served) -> None:
    question = f"{day(THIRD)}&compare=previous"
    answer = served.get(f"/traffic.parquet?{question}")
    assert answer.headers["Content-Type"] == "application/vnd.apache.parquet"
    table = pq.read_table(pa.BufferReader(answer.body))
    lines = [*csv.DictReader(io.StringIO(served.get(f"/traffic.csv?{question}").text))]
    assert table.column_names == [*COLUMNS]
    kinds = {"start": "timestamp[ms, tz=Europe/Berlin]", "value": "double", "exact": "bool", "state": "string"}
    assert {name: str(table.schema.field(name).type) for name in kinds} == kinds
    for row, line in zip(table.to_pylist(), lines, strict=True):
        assert row["state"] == line["state"]
        assert row["value"] == (float(line["value"]) if line["value"] else None)
        for name in ("start", "end", "covered_from", "covered_until", "compared_end"):
            assert (row[name].isoformat() if row[name] else "") == line[name]
    assert FORMULA in table["key"].to_pylist()


def test_a_store_that_hangs_is_no_answer(warehouse: Path) -> None:
    with serving(warehouse) as page, hanging(warehouse):
        answer = page.ask(f"/traffic.json?{day(SECOND)}")
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        assert "store has not answered yet" in json.loads(answer.text)["error"]


def test_before_the_first_batch_there_is_no_answer(tmp_path: Path) -> None:
    with serving(tmp_path) as page:
        answer = page.get("/traffic.json")
    assert (answer.status, json.loads(answer.text)["error"][:31]) == (404, "No batch was committed yet: the")


def test_the_verb_waits_until_the_watermark_has_passed_the_period(tmp_path: Path) -> None:
    site = Site(tmp_path, replace(POLICY, reports=REPORTS, totals=None), committed_at=NOON).open()
    site.batch(Event(1), Event(2, "bob"))
    steps: Iterator[Event] = iter([Event(60), Event(12 * 60)])
    words = replace(Words.checked(f"{FIRST}..{FIRST}", "none", "", {}), zone=ZoneInfo(BERLIN))
    traffic = period_traffic(
        str(tmp_path), words, waits=True, clock=lambda: NOON, pause=lambda _: site.batch(next(steps))
    )
    assert traffic.figures["page_views"].value == 3
    assert next(steps, None) is None


def test_a_day_that_has_just_ended_may_still_change(tmp_path: Path) -> None:
    site = Site(tmp_path, replace(POLICY, reports=REPORTS, totals=None), committed_at=NOON).open()
    words = replace(Words.checked(f"{FIRST}..{FIRST}", "none", "", {}), zone=ZoneInfo(BERLIN))
    midnight = 600  # of Berlin, in minutes after noon of UTC

    def states() -> list[str]:
        figures = period_traffic(str(tmp_path), words, waits=False, clock=lambda: NOON).figures
        found = [figures[name].coverage for name in ("page_views", "visitors", "visits")]
        changes = [(each.may_change_until - NOON) // MINUTE - midnight for each in found if each.may_change_until]
        return [*(str(each.state) for each in found), *map(str, changes)]

    site.batch(Event(midnight - 1441, "dan"), Event(midnight - 1.5))
    site.batch(Event(midnight - 0.5, "bob"))
    assert states() == ["so far"] * 3
    site.batch(Event(midnight + 0.5, "cid"))
    # The lateness of the reports is a minute; a visit of the last second ends half an hour later.
    assert states() == [*["complete"] * 3, "1", "1", "30"]
    site.batch(Event(midnight + 1, "cid"))
    assert states() == ["final", "final", "complete", "30"]
    site.batch(Event(midnight + 31, "cid"))
    assert states() == ["final"] * 3
