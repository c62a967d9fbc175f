"""The status of a warehouse, read from its tables without Spark."""

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests.support.ledger_rows import NOON, NOON_MS, commit, ledger_row
from tidemark.command_line.terminal import Console, RenderableType
from tidemark.pipeline.cli import main
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.policy import Verdict
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.reading.service_status import print_status, read_status
from tidemark.pipeline.reading.status_view import Status, WindowStatus, render
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.handle import Handle, create_table
from tidemark.pipeline.tables.opening import Opening
from tidemark.pipeline.tables.schemas import LEDGER, PAGE_VIEWS, result_of

pytestmark = pytest.mark.slow

MINUTE = timedelta(minutes=1)


def publish(warehouse: str, start: datetime, users: int, late: int = 0) -> None:
    """A window of a minute in which each user viewed two pages and clicked once."""
    rows = [(start, start + MINUTE, f"u{n}", 2, 1, late, 1) for n in range(users)]
    columns = [
        pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), PAGE_VIEWS.schema, strict=True)
    ]
    data = pa.Table.from_arrays(columns, schema=PAGE_VIEWS.schema)
    write_deltalake(Handle.of(PAGE_VIEWS, warehouse).table, data, mode="append")


def shown(what: RenderableType) -> str:
    console = Console(file=StringIO(), width=120)
    console.print(what)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two epochs on two partitions: 30 records in a life before, then 40 and 20 in batches two seconds apart."""
    path, watermark = str(tmp_path_factory.mktemp("made")), NOON_MS - 61_000
    old, new = EPOCH + 1, 2 * EPOCH
    first = replace(ledger_row(old, 0, 30, NOON_MS - 90_000), counted=25, malformed=5)
    second = replace(
        ledger_row(new + 1, 1, 40, NOON_MS - 3000), counted=33, too_late=3, future=1, duplicate=2, erased=1
    )
    third = ledger_row(new + 2, 1, 20, NOON_MS - 1000)
    commit(path, first, ledger_row(old, 1, 0, NOON_MS - 90_000))
    commit(path, ledger_row(new, 0, 0, NOON_MS - 5000), ledger_row(new, 1, 0, NOON_MS - 5000))
    commit(path, second)
    commit(
        path,
        replace(third, from_offset=40, to_offset=60, max_event_time=NOON_MS - 2000, watermark=watermark),
        replace(ledger_row(new + 2, 0, 0, NOON_MS - 1000), from_offset=1030, to_offset=1030, watermark=watermark),
    )
    return path


@pytest.fixture
def warehouse(made: str, tmp_path: Path) -> str:
    """A copy of it."""
    return str(shutil.copytree(made, tmp_path / "warehouse"))


def summary_of(warehouse: str) -> LedgerSummary:
    summary = read_status(warehouse).summary
    assert summary is not None
    return summary


def test_the_last_batch_and_the_totals_of_all_epochs_come_from_the_ledger(warehouse: str) -> None:
    summary, account = summary_of(warehouse), summary_of(warehouse).account
    assert (summary.topic, summary.epoch, summary.batch_in_epoch, summary.committed_at) == (
        "clicks",
        2,
        2,
        NOON_MS - 1000,
    )
    assert summary.watermark == NOON_MS - 61_000
    partitions = [(one.partition, one.to_offset, one.max_event_time) for one in summary.partitions]
    assert partitions == [(0, 1030, None), (1, 60, NOON_MS - 2000)]
    assert {verdict: getattr(account, verdict) for verdict in Verdict} == {
        "counted": 78,
        "too_late": 3,
        "future": 1,
        "malformed": 5,
        "duplicate": 2,
        "erased": 1,
        "left_out": 0,
    }


def test_the_rate_is_that_of_the_last_batches_of_this_epoch(warehouse: str) -> None:
    # opened    40 records  20 records
    # -5 s      -3 s        -1 s
    assert summary_of(warehouse).records_per_second == (40 + 20) / 4


def test_the_rate_is_over_the_last_ten_batches_and_counts_what_came_between_them(tmp_path: Path) -> None:
    commit(str(tmp_path), *(ledger_row(EPOCH + n, 0, 100 if n else 1_000_000, NOON_MS + n * 1000) for n in range(15)))
    assert summary_of(str(tmp_path)).records_per_second == 100


def test_the_latest_windows_are_summed_over_users_newest_first(warehouse: str) -> None:
    for minute in range(7):
        publish(warehouse, NOON + minute * MINUTE, users=minute + 1, late=minute % 2)
    windows = read_status(warehouse).windows
    assert [window.counts["rows"] for window in windows] == [7, 6, 5, 4, 3]
    start = NOON_MS + 5 * 60_000
    counts = {"rows": 6, "page_views": 12, "clicks": 6, "late_events": 6}
    assert windows[1] == WindowStatus(start, start + 60_000, counts)


def test_a_window_long_ago_is_not_among_the_latest(warehouse: str) -> None:
    publish(warehouse, NOON - timedelta(days=1), users=3)
    publish(warehouse, NOON, users=2)
    assert [window.counts["rows"] for window in read_status(warehouse).windows] == [2]


def test_a_report_shows_what_it_has_and_what_can_be_added_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measures = ["unique_users", "sessions_begun"]
    landings = {"keys": ["page_url"], "measures": measures, "session_gap": "9s"}
    reports = {"landings": landings, "site": {"measures": measures[:1]}}
    sections: dict[str, Any] = {"reports": reports, "totals": {"gap": "1m"}}
    policy = Settings(**sections).policy()
    commit(str(tmp_path), replace(ledger_row(EPOCH, 0, 0, NOON_MS), opening=Opening(policy, {}).to_text()))
    times = {"window_start": [NOON] * 2, "window_end": [NOON + MINUTE] * 2}
    counts = {"unique_users": [3, 4], "users_sketch": [b""] * 2, "sessions_begun": [1, 2], "late_events": [0, 1]}
    for report in policy.reports[:2]:
        spec, of_pages = result_of(report), {"page_url": ["/", "/shop"], "published_batch": [1, 1]}
        data = pa.table({**times, **counts, **of_pages}).select(spec.schema.names).slice(0, 2 if report.keys else 1)
        write_deltalake(Handle.of(spec, str(tmp_path)).table, data.cast(spec.schema), mode="append")
    by_default, named = read_status(str(tmp_path)), read_status(str(tmp_path), "site")
    assert (by_default.report, named.report) == ("landings", "site")
    assert [one.counts for one in by_default.windows] == [{"rows": 2, "sessions_begun": 3, "late_events": 1}]
    assert [one.counts for one in named.windows] == [{"rows": 1, "unique_users": 3, "late_events": 0}]
    assert main(["status", "--warehouse", str(tmp_path), "--report", "site"]) == 0
    assert "unique users (about)" in capsys.readouterr().out
    with pytest.raises(SetUpError, match="there is no report user_totals with windows; there are landings, site"):
        read_status(str(tmp_path), "user_totals")


def test_tables_that_do_not_exist_yet_count_as_empty(tmp_path: Path) -> None:
    assert read_status(str(tmp_path / "nothing")) == Status(str(tmp_path / "nothing"))
    create_table(LEDGER, str(tmp_path))
    assert read_status(str(tmp_path)) == Status(str(tmp_path))
    create_table(PAGE_VIEWS, str(tmp_path))
    commit(str(tmp_path), ledger_row(EPOCH, 0, 0, NOON_MS))
    summary = summary_of(str(tmp_path))
    assert (summary.epoch, summary.batch_in_epoch, summary.records_per_second) == (1, 0, None)
    assert read_status(str(tmp_path)).windows == ()


def test_the_view_shows_the_numbers(warehouse: str) -> None:
    publish(warehouse, NOON, users=1234)
    text = shown(render(read_status(warehouse), NOON_MS))
    for line in (
        r"epoch +2$",
        r"last batch +2, committed 2026-03-01 11:59:59 \(1 s ago\)$",
        r"watermark +2026-03-01 11:58:59, 61 s behind the clock$",
        r"rate +15 records/s over the last batches$",
        r"│ 0 +│ +1,030 │ +none yet │",
        r"│ 1 +│ +60 │ +2026-03-01 11:59:58 │",
        r"│ counted +│ +78 │",
        r"│ duplicate +│ +2 │",
        r"│ erased +│ +1 │",
        r"│ rejected +│ +10 │",
        r"│ lateness unknown +│ +78 │",
        r"│ \[2026-03-01 12:00, 12:01\) │ 1,234 │ +2,468 │ +1,234 │ +0 │",
    ):
        assert re.search(rf"(?m){line.replace('$', ' *$')}", text), (line, text)


def test_the_status_of_a_warehouse_that_no_service_has_opened_says_so() -> None:
    assert shown(render(Status("/lake"), NOON_MS)) == "/lake: no service has opened this warehouse yet\n"


def test_a_path_with_brackets_is_shown_as_it_is(warehouse: str) -> None:
    assert "/lake[bold]/x" in shown(render(Status("/lake[bold]/x"), NOON_MS))
    assert "/lake[bold]/x" in shown(render(replace(read_status(warehouse), warehouse="/lake[bold]/x"), NOON_MS))


def test_a_place_without_a_warehouse_is_a_set_up_error(tmp_path: Path) -> None:
    with pytest.raises(SetUpError, match=r"there is no Tidemark warehouse at .*nowhere"):
        print_status(str(tmp_path / "nowhere"))


def test_print_status_prints_it(warehouse: str) -> None:
    console = Console(file=StringIO(), width=120)
    print_status(warehouse, console=console)
    assert isinstance(console.file, StringIO)
    assert "1,030" in console.file.getvalue()


@pytest.mark.slow
def test_status_and_advice_need_no_spark() -> None:
    modules = "tidemark.pipeline.reading.service_status, tidemark.pipeline.reading.advice.bounds_advice"
    code = f"import sys, {modules}; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
