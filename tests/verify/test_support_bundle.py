"""`tidemark support-bundle`: no secret and no personal data, wherever either was planted."""

import doctest
import json
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deltalake import DeltaTable

from tests.verify.plant import Rows, alter, ms
from tests.verify.site import POLICY, REPORTS, TIMED, Event, Site
from tidemark.pipeline.cli import main
from tidemark.pipeline.commands.support import scrubbing
from tidemark.pipeline.commands.support.bundle import bundle_text
from tidemark.pipeline.commands.support.safe_settings import setting_lines
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.event_ids import Ids
from tidemark.pipeline.fold.outputs import event_ids
from tidemark.pipeline.settings.setting_catalogue import Setting, catalogue
from tidemark.pipeline.settings.sources import Source
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.schemas import EVENT_IDS
from tidemark.pipeline.verifier.invariants import verify

MARK = "hunter2bqkz"
SECRETS = (MARK, f"{MARK}-4711", f"https://{MARK}:x@host/{MARK}", "4711471147114711", "a 'quoted' \"" + MARK)
PEOPLE = (f"ann.{MARK}@example.org", "203.0.113.77", "2001:db8::7:77", f"it's {MARK}", "4711471147114711")
"""User ids and pages; one is a number."""
KINDS = ("page_views", "sessions", "pairs", "landings", "ends")
PLANTED = (MARK, "203.0.113.77", "2001:db8::7:77", "4711471147114711", "example.org", "ann.")


def planted_in(text: str) -> list[str]:
    return [mark for mark in PLANTED if mark in text]


def nested(setting: Setting, value: Any) -> dict[str, Any]:
    tree: Any = value
    for name in reversed(setting.path):
        tree = {name: tree}
    return dict(tree)


def lines(setting: Setting, value: Any) -> str:
    return "\n".join(setting_lines([Source("environment", nested(setting, value), {setting.path: MARK})]))


@pytest.mark.slow
def test_no_setting_shows_what_may_be_a_secret() -> None:
    for setting, secret in product(catalogue(), (*SECRETS, *PEOPLE)):
        if setting.form in ("FIELD", "FIELD,...") and secret.isalnum():
            continue  # names of a schema's fields are shown
        for value in (
            secret,
            [secret],
            {"spark.x": secret, "spark.password": "12345"},
            {"x": {"where": secret}},
            {f"/{secret}": 7},
        ):
            printed = lines(setting, value)
            assert printed.startswith(f"{setting.name} = ")
            assert planted_in(printed) == [], setting.name
            assert setting.name != "spark.conf" or "12345" not in printed


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("time.bound", "30s", "30s"),
        ("batch.max_records", 5000, "5000"),
        ("time.of", "ingestion", "ingestion"),
        ("time.of", "30s", "(hidden)"),
        ("window.zone", "Europe/Berlin", "Europe/Berlin"),
        ("schemas.mapping.user", "customer.id", "customer.id"),
        ("schemas.mapping.user", "customer.id,anonymous", "customer.id,anonymous"),
        ("schemas.mapping.kinds", {"PageView": "visit"}, "1 value"),
        ("kafka.topic", "30s", "(hidden)"),
        ("kafka.java", {"sasl.jaas.config": "x"}, "(hidden)"),
        ("spark.conf", {"spark.executor.memory": "4g", "spark.authenticate.secret": "4"}, "spark.executor.memory: 4g"),
        (
            "reports",
            {"users": {"keys": ["user_id"], "where": "user_id = 'x'", "window": {"size": "1d", "zone": "UTC"}}},
            "{users: {keys: [user_id], where: (hidden), window: {size: 1d, zone: UTC}}}",
        ),
    ],
)
def test_what_cannot_be_a_secret_is_shown(name: str, value: Any, shown: str) -> None:
    setting = next(setting for setting in catalogue() if setting.name == name)
    assert shown in lines(setting, value)


def test_what_identifies_a_machine_or_a_person_is_replaced_in_any_text() -> None:
    assert doctest.testmod(scrubbing).failed == 0
    for text in ("[2001:db8::7:77]:9092", "ann.x@example.org", "203.0.113.77:9092", "s3a://ann.@host/x", "~/ann.x"):
        assert planted_in(scrubbing.scrubbed(f"cannot reach {text}, again at 12:00:00")) == []
        assert scrubbing.scrubbed(f"{text} at 12:00:00").endswith(" at 12:00:00")


def test_a_bundle_is_written_without_a_warehouse_and_with_wrong_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDEMARK_KAFKA__SASL__PASSWORD", MARK)
    (tmp_path / "tidemark.toml").write_text(f'warehouse = "{tmp_path}/{MARK}"\n[time]\nbound = "{MARK}"')
    assert main(["support-bundle", "--config", "tidemark.toml", "--topic", MARK]) == 0
    text = (tmp_path / "tidemark-support.txt").read_text()
    for line in ("time.bound = (hidden)  # file", "kafka.topic = (hidden)  # flag", "failed: SetUpError"):
        assert line in text
    assert planted_in(text) == []
    assert str(tmp_path) not in text
    assert "written to tidemark-support.txt" in capsys.readouterr().out


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with personal data in every text, and with a violation of every invariant."""
    warehouse = tmp_path_factory.mktemp(MARK)
    reports = tuple(report for report in (*REPORTS, *TIMED) if report.name in KINDS)
    policy = replace(POLICY, reports=reports, deduplicate=True)
    site = Site(warehouse, policy).open()
    site.batch(*(Event(minute, user, page=user) for minute, user in enumerate(PEOPLE)))
    site.batch(Event(12), Event(13, "bob")).batch(Event(80)).batch(Event(1, PEOPLE[0], PEOPLE[1]), Event(81))
    ids = Ids(np.array([11, 11]), np.array([12, 12]), np.array([ms(81), ms(81)]))
    Appender(EVENT_IDS, str(warehouse)).append(event_ids(ids, site.number), site.number)
    for name in (*(report.name for report in policy.reports), "user_totals"):
        alter(warehouse, name, distorted)
    alter(warehouse, "dead_letters", lambda rows: [row | BROKEN_LETTER for row in (*rows, *rows)])
    alter(warehouse, "ledger", unbalanced)
    return warehouse


BROKEN_LETTER = {"reason": "erased", "key": MARK.encode(), "detail": MARK, "topic": PEOPLE[0]}


def distorted(rows: Rows) -> Rows:
    """Returns rows of a result with higher counts, the wrong bucket and another last page; the first row twice."""
    numbers = ("page_views", "unique_users", "bucket")
    higher = [row | {name: row[name] + 100 for name in numbers if name in row} for row in rows]
    changed = [row | {name: PEOPLE[3] for name in row if name == "last_page_url"} for row in higher]
    return [*changed, *changed[:1]]


def unbalanced(rows: Rows) -> Rows:
    """Returns the ledger with a row that does not balance, and whose opening cannot be read."""
    last = max(rows, key=lambda row: int(row["batch"]))
    opening = json.dumps({"format": 1, "policy": {MARK: PEOPLE[0]}, "reset": {"reason": MARK}})
    wrong = {"from_offset": 0, "watermark": 0, "topic": PEOPLE[1]}
    return [*rows, last | wrong | {"batch": 2 * EPOCH, "epoch": 2, "opening": opening}]


@pytest.mark.slow
def test_no_section_has_personal_data_of_a_broken_warehouse(broken: Path) -> None:
    found = verify(str(broken))
    held = [finding.name for finding in found.findings if not finding.violation_count]
    assert held == ["tables are of one time", "tables are intact"]
    # A finding has some examples only, of any order.
    assert {MARK, "203.0.113.77", "example.org"} & {*planted_in(str(found.findings))}, "the test proves something"
    text = bundle_text([Source("file", {"warehouse": str(broken)}, {})], verifies=True)
    assert planted_in(text) == []
    assert "failed" not in text


@pytest.mark.slow
def test_no_section_has_values_of_a_damaged_warehouse(broken: Path, tmp_path: Path) -> None:
    """A table that is no table, and a file that is no Parquet, end in errors with paths."""
    shutil.copytree(broken, warehouse := tmp_path / MARK)
    Path(DeltaTable(str(warehouse / "pairs")).file_uris()[0]).write_bytes(MARK.encode() * 100)
    shutil.rmtree(warehouse / "page_views" / "_delta_log")
    text = bundle_text([Source("file", {"warehouse": str(warehouse)}, {})], verifies=True)
    assert planted_in(text) == []
    assert "pairs: the file" in text
