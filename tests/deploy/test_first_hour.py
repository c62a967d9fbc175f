"""The commands of "The demo" in `docs/start.md`: names in compose exist. `test_site_to_page.py` runs the commands."""

from tests.deploy.files import services
from tests.deploy.first_hour import PAGE, SQL, VERBS, compose_commands
from tests.deploy.first_hour_play import METRICS
from tests.deploy.rules import alerts


def test_compose_has_the_profiles_and_services_that_the_page_names() -> None:
    profiles = {profile for service in services().values() for profile in service.get("profiles", [])}
    verbs = set()
    for options, (verb, *words) in compose_commands():
        verbs.add(verb)
        assert options[::2] == ["--profile"] * (len(options) // 2)
        assert {*options[1::2]} <= profiles
        named = words[:1] if verb == "exec" else [word for word in words if not word.startswith("--")]
        assert {*named} <= {*services()}
    assert verbs == VERBS


def test_the_page_names_ports_and_alerts_that_exist() -> None:
    page, published = PAGE, [port for one in services().values() for port in one.get("ports", [])]
    for port in (METRICS, SQL, 3000, 9093, 9478, 8480):
        assert f"127.0.0.1:{port}" in page
        assert f"127.0.0.1:{port}:{port}" in published
    assert services()["dashboard"]["environment"]["TIDEMARK_DASHBOARD__TOKEN"] in page
    assert f":{services()['sql']['environment']['TIDEMARK_SQL_PASSWORD']}@127.0.0.1:{SQL}" in page
    assert "`TidemarkFailing`" in page
    failing = alerts()["TidemarkFailing"]
    assert failing["expr"].startswith("increase(tidemark_failures_total[5m]) > 0 unless ")
    assert failing["for"] == "5m"
