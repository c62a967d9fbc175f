"""The metrics of the page: whether the tables can be read, and answers by class of their status; no data."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dashboard.scene import Served, hanging, serving
from tests.deploy.files import ROOT
from tests.support.exposed_metrics import names_of, values_of
from tests.support.waiting import PATIENCE_S, wait_for
from tests.verify.site import PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.web.dashboard.dashboard_health import Health
from tidemark.pipeline.web.dashboard.page_metrics import PageMetrics

pytestmark = pytest.mark.slow
TOKEN = "correct-horse-battery"
PAGE = ROOT / "docs" / "dashboard.md"


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    return Path(Site(tmp_path / "warehouse", PAGE_VIEWS_ALONE).open().batch(Event(1)).warehouse)


@pytest.fixture
def guarded(warehouse: Path) -> Iterator[Served]:
    """A page that asks for the token."""
    with serving(warehouse, TOKEN) as page:
        yield page


def test_prometheus_reads_whether_the_tables_can_be_read_without_the_token(tmp_path: Path) -> None:
    with serving(tmp_path, TOKEN) as page:
        wait_for(lambda: page.ask("/healthz").status == 200, PATIENCE_S, "the first reading")
        assert readable(page) == 1
        (tmp_path / "ledger" / "_delta_log").mkdir(parents=True)
        (tmp_path / "ledger" / "_delta_log" / "00000000000000000000.json").write_text("nothing")
        wait_for(lambda: page.ask("/healthz").status == 503, PATIENCE_S, "the failing store")
        assert readable(page) == 0


def test_a_store_that_never_answers_is_not_readable(warehouse: Path) -> None:
    with hanging(warehouse), serving(warehouse, TOKEN) as page:
        assert readable(page) == 0


def test_answers_are_counted_by_class_without_probes_and_scrapes(guarded: Served) -> None:
    assert answers(guarded) == {"2xx": 0, "3xx": 0, "4xx": 0, "5xx": 0}
    guarded.ask("/healthz")
    assert guarded.ask("/").status == 401
    assert guarded.ask("/nothing", Authorization=f"Bearer {TOKEN}").status == 404
    assert guarded.ask("/login", f"token={TOKEN}".encode()).status == 303
    assert guarded.ask("/static/style.css").status == 200
    assert answers(guarded) == {"2xx": 1, "3xx": 1, "4xx": 2, "5xx": 0}


def test_the_metrics_contain_nothing_of_the_tables(warehouse: Path, guarded: Served) -> None:
    assert "ann" in guarded.get("/users?id=ann", Authorization=f"Bearer {TOKEN}").text
    text = guarded.ask("/metrics").text
    assert "tidemark_page_answers_total" in text
    assert not re.search(rf"\bann\b|users|{re.escape(str(warehouse))}", text)


def test_the_documents_have_each_metric() -> None:
    assert names_of(PageMetrics(Health("/nowhere")).registry) == set(
        re.findall(r"^\| `(tidemark_page_\w+)", PAGE.read_text(), re.MULTILINE)
    )


def readable(page: Served) -> float:
    return samples(page, "tidemark_page_tables_readable")[""]


def answers(page: Served) -> dict[str, float]:
    return samples(page, "tidemark_page_answers_total")


def samples(page: Served, name: str) -> dict[str, float]:
    """Returns the values of a metric by the label `status`."""
    answer = page.ask("/metrics")
    assert answer.status == 200
    return values_of(answer.text, name, "status")
