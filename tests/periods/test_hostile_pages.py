"""Figures of pages whose URLs break lines, look like formulas, or are no text."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.periods.traffic_site import BERLIN, FIRST, REPORTS
from tests.verify.site import NOON, POLICY, Event, Site
from tidemark.pipeline.reading.periods.ask import BadQuestion, Words
from tidemark.pipeline.reading.periods.period_report import period_traffic
from tidemark.pipeline.reading.periods.traffic_rows import as_csv

PAGES = ['/a,b\n"', "/r\rr", "/u\u2028x", "/x\x85y", "/z\x1c", "(rest)", "+1;2", *(f"/~{number}" for number in "0123")]
IN_CSV = ['/a,b\\n"', "/r\\rr", "/u\\u2028x", "/x\\x85y", "/z\\x1c", "(rest)", "'+1;2", "/~0", "/~1", "/~2"]


@pytest.mark.slow
def test_the_csv_has_each_page_in_lines_of_its_own(tmp_path: Path) -> None:
    site = Site(tmp_path, replace(POLICY, reports=(REPORTS[1], REPORTS[5]), totals=None), committed_at=NOON).open()
    site.batch(*(Event(index, page=page) for index, page in enumerate(PAGES))).batch(Event(1500))
    words = replace(Words.checked(f"{FIRST}..{FIRST}", "none", "", {}), zone=ZoneInfo(BERLIN))
    text = as_csv(period_traffic(str(tmp_path), words, waits=False, clock=lambda: NOON))
    lines = [line for line in csv.DictReader(io.StringIO(text)) if line["part"] == "pages"]
    views = {line["key"]: line["value"] for line in lines if line["measure"] == "page_views"}
    assert views == dict.fromkeys(IN_CSV, "1")
    assert [(line["key"], line["value"]) for line in lines if line["measure"] == "page_views.rest"] == [("", "1")]
    assert {line["exact"] for line in lines if line["measure"] == "visitors"} == {"false"}


def test_a_page_that_is_no_text_is_refused_in_a_sentence() -> None:
    with pytest.raises(BadQuestion, match="page_url is not valid UTF-8"):
        Words.checked("today", "none", "", {"page_url": "/\udcff"})
