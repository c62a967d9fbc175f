"""Sound warehouses, made once and copied."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.verify.kinds import play_kinds
from tests.verify.site import GROWING, LAST_THREE, OF_ONE_USER, POLICY, REPORTS, TIMED, Event, Site
from tidemark.pipeline.event_time.user_totals import UserTotals

Copy = Callable[[str], Path]


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Returns the warehouse of a report, of totals and a report, or of other kinds of events, made at the first call.

    Three windows have fired, two of them are closed, and one waits.
    """
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp(name)
            if name == "kinds":
                play_kinds(made[name])
                return made[name]
            # Totals count the events of reports.
            totals = POLICY.totals if name == UserTotals.name else None
            among = REPORTS[:1] if totals else (*REPORTS, *TIMED, GROWING, LAST_THREE, OF_ONE_USER)
            reports = tuple(report for report in among if totals or report.name == name)
            play(Site(made[name], replace(POLICY, reports=reports, totals=totals)).open())
        return made[name]

    return make


@pytest.fixture
def copy(sound: Copy, tmp_path: Path) -> Copy:
    """Returns a copy of a sound warehouse, to be broken."""

    def make(name: str) -> Path:
        shutil.copytree(sound(name), tmp_path, dirs_exist_ok=True)
        return tmp_path

    return make


def play(site: Site) -> Site:
    """Windows fire at 10, 20 and 30 minutes, the first again, and close five minutes later; one comes too late."""
    site.batch(Event(1), Event(3, click=True), Event(4, "bob", "/a"), Event(4.5, page=None))
    site.batch(Event(12), Event(13, "bob"))
    site.batch(Event(8.5, "bob"))
    site.batch(Event(22), Event(31.5))
    return site.batch(Event(2, "dan"), Event(32, "dan"))
