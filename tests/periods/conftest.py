"""A warehouse for questions about periods, made once, and its page."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.dashboard.scene import Served, serving
from tests.periods.traffic_site import FORMULA, REPORTS
from tests.verify.site import MINUTE, NOON, POLICY, Event, Site
from tidemark.pipeline.event_time.user_totals import UserTotals


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """From noon UTC of the first day to 02:39 of the third in Berlin: every two hours three events of ann and bob.

    At midnight in Berlin (720 minutes after noon less two hours) another day starts.
    """
    folder = tmp_path_factory.mktemp("traffic")
    policy = replace(POLICY, reports=REPORTS, totals=UserTotals(30 * MINUTE, MINUTE))
    site = Site(folder, policy, committed_at=NOON).open()
    for minute in range(0, 36 * 60, 120):
        site.batch(Event(minute), Event(minute + 1, page="/a", click=True), Event(minute + 40, "bob", FORMULA))
    site.batch(Event(36 * 60 - 1, "cid"), Event(36 * 60 + 39, "cid"))
    return folder


@pytest.fixture(scope="session")
def served(warehouse: Path) -> Iterator[Served]:
    with serving(warehouse) as page:
        yield page
