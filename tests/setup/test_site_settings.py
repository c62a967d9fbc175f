"""`[site]` adds reports, dimensions and measures, and refuses names that are its own."""

import json
import re

import pytest

from tests.support.parsed_settings import parsed_settings
from tidemark.pipeline.app import require_referrer
from tidemark.pipeline.commands.preflight.check_result import Level
from tidemark.pipeline.commands.preflight.warehouse_checks import check_reports
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.settings.model import Settings
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventSchemas

ZONE = "--site.zone=Europe/Berlin"
FOREIGN = "--schemas.mapping.user=customer"
SPANS = [f"site_{keys}by_{span}" for keys in ("", "pages_", "users_", "referrers_") for span in ("hour", "day")]


def added(settings: Settings) -> dict[str, Report]:
    """The reports of `[site]`, by name."""
    return {report.name: report for report in settings.policy().reports if report.name not in settings.reports}


def test_a_zone_adds_the_reports_of_a_site_to_the_others() -> None:
    settings = parsed_settings(ZONE, "--site.visit-gap=20m")
    reports = added(settings)
    assert [*settings.reports] == ["page_views", "page_traffic", "site_traffic"]
    assert [*reports] == ["site_by_minute", *SPANS, "site_visits"]
    assert reports["site_pages_by_day"].windows == Calendar(86_400_000, "Europe/Berlin")
    assert reports["site_visits"].windows == Sessions(1_200_000)
    assert {"entry_page", "exit_page", "referring_host", "bounced"} <= {*reports["site_visits"].measures}


def test_without_the_section_nothing_is_added() -> None:
    assert added(parsed_settings()) == {}


def test_a_foreign_topic_has_no_report_of_referring_hosts_until_it_names_a_field() -> None:
    none = added(parsed_settings(ZONE, FOREIGN))
    assert not [name for name in none if "referrers" in name]
    assert "referring_host" not in none["site_visits"].measures
    (host,) = added(parsed_settings(ZONE, FOREIGN, "--site.referrer=ref"))["site_referrers_by_day"].dimensions
    assert host.sql == "nullif(lower(parse_url(ref, 'HOST')), lower(parse_url(page_url, 'HOST')))"


@pytest.mark.parametrize(
    ("arguments", "level", "sentence"),
    [
        ([FOREIGN], Level.WARN, "schemas.mapping has fields of your own: set site.referrer to the field or dimension"),
        (["--site.referrer="], Level.PASS, "no report of referring hosts, because site.referrer is empty"),
    ],
)
def test_the_check_says_that_referring_hosts_are_left_out(arguments: list[str], level: Level, sentence: str) -> None:
    reports, site = check_reports(parsed_settings(ZONE, *arguments))
    assert "referrers" not in reports.message
    assert (site.level, site.subject) == (level, "site")
    assert sentence in site.message


def test_the_check_says_nothing_where_nothing_is_left_out() -> None:
    (reports,) = check_reports(parsed_settings(ZONE))
    assert "site_referrers_by_day" in reports.message


def test_a_field_inside_of_json_and_a_dimension_may_be_the_referrer_and_the_campaign() -> None:
    json_format = ("--schemas.format=json", "--site.zone=UTC")
    (nested,) = added(parsed_settings(*json_format, "--site.referrer=context.page.ref"))[
        "site_referrers_by_day"
    ].dimensions
    assert "parse_url(get_json_object(context, '$.page.ref'), 'HOST')" in nested.sql
    dimensions = json.dumps({"ref": {"sql": "lower(r)"}, "year": {"sql": "year(day)", "type": "integer"}})
    settings = parsed_settings(f"--dimensions={dimensions}", "--site.referrer=ref", "--site.campaign=year")
    measures = {measure.name: measure.sql for measure in added(settings)["site_visits"].field_measures}
    assert "parse_url((lower(r)), 'HOST')" in measures["referring_host"]
    assert measures["campaign"] == "CAST((year(day)) AS STRING)"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--reports=site_x={}"], "reports.site_x: names that start with site_ are for what [site] makes: rename"),
        (["--reports=site_visits={}"], "reports.site_visits: "),
        (["--dimensions=referring_host=r"], "dimensions.referring_host: this name is for what [site] makes: rename"),
        (['--measures={"entry_page": {"first": "a"}}'], "measures.entry_page: this name is for what [site] makes"),
        (["--site.zone=Mars/Base"], "there is no time zone 'Mars/Base'"),
        (["--site.referrer=a b"], "should match pattern"),
        (
            ['--dimensions={"hour": {"sql": "hour(event_time)", "zone": "UTC"}}', "--site.campaign=hour"],
            "site.campaign is 'hour', a dimension with a zone",
        ),
    ],
)
def test_a_site_that_cannot_be_is_refused_in_a_sentence(arguments: list[str], sentence: str) -> None:
    with pytest.raises(SetUpError, match=re.escape(sentence)):
        parsed_settings(*([] if "site.zone" in arguments[0] else [ZONE]), *arguments)


def test_a_referrer_that_no_schema_has_is_refused() -> None:
    with pytest.raises(SetUpError, match=r"the hosts of the field nope, which no schema of the topic has: set"):
        require_referrer(parsed_settings(ZONE, "--site.referrer=nope"), EventSchemas(load_schemas()))
    require_referrer(parsed_settings(ZONE), EventSchemas(load_schemas()))
    require_referrer(parsed_settings(), EventSchemas(load_schemas()))


def test_site_names_are_free_without_the_section() -> None:
    assert "site_x" in parsed_settings("--reports=site_x={}").reports
    assert "site_traffic" in parsed_settings(ZONE, "--reports=site_traffic={}").reports
