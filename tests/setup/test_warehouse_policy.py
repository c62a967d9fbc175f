"""Verbs on a warehouse use its own reports and times, except for those that the settings name."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.environment import remove_settings
from tests.verify.site import MINUTE, POLICY, REPORTS, Event, Site
from tidemark.pipeline.amend import late_corrections
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.policy import Policy, TimeOf
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.settings.load import settings_of
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.setting_catalogue import catalogue
from tidemark.pipeline.settings.sources import Source
from tidemark.pipeline.settings.warehouse_policy import POLICY_SETTINGS, policy_of

pytestmark = pytest.mark.slow
OWN = replace(
    POLICY, reports=REPORTS[1:3], totals=UserTotals(MINUTE, MINUTE), time_of=TimeOf.INGESTION, max_age_ms=MINUTE
)
VERBS = [LetterSelection(), LetterSelection(reasons=("malformed", "future"), is_judged_again=True)]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    remove_settings(monkeypatch)


@pytest.fixture
def settings_for(tmp_path: Path) -> Callable[..., Settings]:
    """Returns settings of a warehouse with the policy `OWN`, as a settings file with `sections` has them."""
    Site(tmp_path, OWN).open().batch(Event(1))

    def read(**sections: Any) -> Settings:
        return settings_of([Source("file", {"warehouse": str(tmp_path), **sections}, {})])

    return read


def test_settings_without_reports_and_times_use_those_of_the_newest_opening(
    settings_for: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for()
    assert policy_of(settings, OWN) == OWN
    newer = replace(OWN, reports=REPORTS[:1])
    site = Site(Path(settings.warehouse), newer, number=1_000_000_001, watermark=Event(1).time, position=1, last=1)
    site.open()

    def checked(_: str, policy: Policy, **__: object) -> None:
        raise ReportsAreChecked([report.name for report in policy.reports])

    monkeypatch.setattr(late_corrections, "check_results", checked)
    with pytest.raises(ReportsAreChecked) as seen:
        apply_corrections(settings, LetterSelection())
    assert seen.value.args == (["page_views"],)


class ReportsAreChecked(Exception):
    """The verb has chosen its reports."""


@pytest.mark.parametrize(
    ("sections", "changed"),
    [
        ({"time": {"max_future_skew": "1h"}}, {"max_future_skew_ms": 60 * MINUTE}),
        ({"time": {"of": "event", "max_age": "off"}}, {"time_of": TimeOf.EVENT, "max_age_ms": None}),
        ({"totals": {"gap": "2m"}}, {"totals": UserTotals(2 * MINUTE, MINUTE)}),
        ({"kafka": {"topic": "t", "tombstones": "left_out"}}, {"leaves_out_tombstones": True}),
        ({"schemas": {"mapping": {"other_kinds": "left_out"}}}, {"leaves_out_kinds": True}),
        ({"schemas": {"mapping": {"kinds": {"order": "purchase"}}}}, {"has_other_kinds": True}),
    ],
)
def test_what_the_settings_name_is_theirs(
    settings_for: Callable[..., Settings], sections: dict[str, Any], changed: dict[str, Any]
) -> None:
    changed |= {"caps_watermark": True} if "of" in sections.get("time", {}) else {}
    assert policy_of(settings_for(**sections), OWN) == replace(OWN, **changed)


@pytest.mark.parametrize(
    "sections",
    [{"reports": {"users": {"keys": ["user_id"]}}}, {"window": {"size": "1h"}}, {"site": {"zone": "Europe/Berlin"}}],
)
def test_reports_or_windows_in_the_settings_are_the_reports(
    settings_for: Callable[..., Settings], sections: dict[str, Any]
) -> None:
    settings = settings_for(**sections)
    assert policy_of(settings, OWN).reports == settings.policy().reports


class SparkIsAsked(Exception):
    """The verb begins to read dead letters."""


@pytest.mark.parametrize("verb", VERBS, ids=["correct", "replay"])
def test_correct_and_replay_refuse_only_reports_that_the_settings_name(
    settings_for: Callable[..., Settings], verb: LetterSelection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(_: object) -> None:
        raise SparkIsAsked

    monkeypatch.setattr(late_corrections, "spark_session", asked)
    for dry_run in (True, False):
        with pytest.raises(SparkIsAsked):
            apply_corrections(settings_for(), verb, dry_run=dry_run)
    with pytest.raises(SetUpError, match="has no report users"):
        apply_corrections(settings_for(reports={"users": {}}), verb)
    with pytest.raises(SetUpError, match=r"report pages .* was made with .*, but the settings say"):
        apply_corrections(settings_for(reports={"pages": {"keys": ["page_url"]}}), verb)


def test_every_part_of_a_policy_has_its_settings() -> None:
    assert {*POLICY_SETTINGS} == {field.name for field in fields(Policy)}
    sections = {"window", "totals", "site"}
    names = {setting.name for setting in catalogue()} | sections
    listed = {name for settings in POLICY_SETTINGS.values() for name in settings}
    assert listed <= names
    of_the_service = {"time.interval", "time.allowed_lateness"}  # the second is that of the reports
    assert {name for name in names if name.startswith("time.")} - listed == of_the_service
