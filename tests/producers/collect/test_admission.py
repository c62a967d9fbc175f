"""The clients whose requests are read: of listed sites, of persons, who did not opt out."""

from collections.abc import Iterator

import pytest

from tests.producers.collect.collect_client import Asker, event, request_body, served
from tests.producers.collect.without_kafka import SITE, app, collector, outcomes
from tidemark.producers.collect.refusals import FirstRefusals
from tidemark.producers.collect.request_metrics import RequestOutcome

pytestmark = pytest.mark.slow
OTHER = "https://shop.example.evil.example"
HEADLESS = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0 Safari/537.36"
)


@pytest.fixture(scope="module")
def ask() -> Iterator[Asker]:
    """A collector at work, for all that may be shared."""
    with served(app(collector())) as client_key:
        yield client_key


@pytest.mark.parametrize("header", [{"dnt": "1"}, {"sec_gpc": "1"}])
def test_who_does_not_want_to_be_followed_is_not(ask: Asker, header: dict[str, str]) -> None:
    before = outcomes(ask, RequestOutcome.OPTED_OUT)
    assert ask.post(request_body(event()), **header).status == 204
    assert outcomes(ask, RequestOutcome.OPTED_OUT) == before + 1


def test_who_may_be_followed_is_not_taken_for_one_who_may_not(ask: Asker) -> None:
    assert ask.post(b"", dnt="0").status == 400


def test_pages_of_other_sites_are_refused(ask: Asker) -> None:
    refused = ask.post(request_body(event()), origin=OTHER)
    assert refused.status == 403
    assert refused.json == {"error": f"pages of {OTHER} are not collected here"}
    assert "access-control-allow-origin" not in refused.headers
    assert ask.post(b"", origin=SITE).status == 400
    assert ask.post(b"", origin=SITE).headers["access-control-allow-origin"] == SITE


def test_the_first_refusal_of_each_site_is_reported() -> None:
    reports = list[str]()
    with served(app(collector(), reports.append)) as ask:
        for _ in range(2):
            assert ask.post(request_body(event()), origin=OTHER).status == 403
        assert ask.post(b"", origin=SITE).status == 400
        ask("OPTIONS", "/events", origin="https://b.example", access_control_request_method="POST")
    assert reports == [
        f"pages of {OTHER} are refused, because --allow-origin does not list it",
        "pages of https://b.example are refused, because --allow-origin does not list it",
    ]


def test_reports_of_refused_sites_are_bounded() -> None:
    reports = list[str]()
    refusals = FirstRefusals(reports.append, most=3)
    for count in range(10):
        refusals.add(f"https://{count}.example/{'x' * 10_000}")
    assert len(reports) == 3
    assert max(map(len, reports)) < 400
    assert [report.endswith("(further sites are not reported)") for report in reports] == [False, False, True]


@pytest.mark.parametrize(
    ("agent", "outcome", "words"),
    [
        (HEADLESS, RequestOutcome.ROBOT, "the User-Agent is a robot's"),
        ("curl/8.9.1", RequestOutcome.ROBOT, "the User-Agent is a robot's"),
        ("", RequestOutcome.NO_AGENT, "requests without User-Agent"),
        (" ", RequestOutcome.NO_AGENT, "requests without User-Agent"),
    ],
)
def test_robots_are_refused_by_the_rules_of_logs(ask: Asker, agent: str, outcome: RequestOutcome, words: str) -> None:
    before = outcomes(ask, outcome)
    refused = ask.post(request_body(event()), user_agent=agent)
    assert refused.status == 403
    assert refused.json["error"].startswith(words)
    assert outcomes(ask, outcome) == before + 1


def test_robots_are_accepted_where_that_is_an_option() -> None:
    with served(app(collector(keeps_robots=True))) as ask:
        assert ask.post(request_body(event()), user_agent=HEADLESS).status == 503
        assert ask("POST", "/events", request_body(event())).status == 503


def test_any_site_may_send_where_that_is_said() -> None:
    with served(app(collector(origins=("*",)))) as ask:
        assert ask.post(b"", origin=OTHER).status == 400


def test_a_preflight_request_is_answered_with_the_admitted_site(ask: Asker) -> None:
    wants = {"access_control_request_method": "POST", "access_control_request_headers": "content-type"}
    told_so = ask("OPTIONS", "/events", origin=SITE, **wants)
    assert told_so.status == 200
    assert told_so.headers["access-control-allow-origin"] == SITE
    assert told_so.headers["access-control-allow-credentials"] == "true"
    assert ask("OPTIONS", "/events", origin=OTHER, **wants).status == 400
