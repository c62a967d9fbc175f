"""Which panels the first page has: `dashboard.panels`."""

import re
from pathlib import Path

import pytest

from tests.dashboard.scene import serving, text_of
from tests.dashboard.visitor_scene import DAY, NOW, visitors
from tests.support.parsed_settings import parsed_settings
from tests.verify.site import Event
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.settings.dashboard_settings import PANELS, Panel

FURTHER = "list-visits_by_referring_host list-referring_host"


def test_panels_are_a_list_in_a_file_and_names_with_commas_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parsed_settings().dashboard.panels == PANELS
    assert parsed_settings("--dashboard.panels=now, chart").dashboard.panels == ("now", "chart")
    monkeypatch.setenv("TIDEMARK_DASHBOARD__PANELS", "pages,figures")
    assert parsed_settings().dashboard.panels == ("pages", "figures")


@pytest.mark.parametrize(
    ("panels", "sentence"),
    [
        ("chart,chart", "dashboard.panels: chart is named twice: name each panel once"),
        ("maps", "dashboard.panels.0: Input should be 'figures', 'chart', 'pages'"),
        ("", "dashboard.panels: name at least one panel"),
    ],
)
def test_panels_that_do_not_exist_are_refused(panels: str, sentence: str) -> None:
    with pytest.raises(SetUpError, match=re.escape(sentence)):
        parsed_settings(f"--dashboard.panels={panels}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("panels", "sections"),
    [
        (
            PANELS,
            f"now figures chart list-pages list-entries list-exits list-users {FURTHER} visitors-now more",
        ),
        (("now", "exits", "figures"), "now visitors-now list-exits figures more"),
    ],
)
def test_the_page_has_the_panels_in_their_order(
    visitor_warehouse: Path, panels: tuple[Panel, ...], sections: str
) -> None:
    with serving(visitor_warehouse, clock=lambda: NOW, panels=panels) as page:
        assert re.findall('<section id="([^"]*)"', page.get("/").text) == sections.split()


@pytest.mark.slow
def test_visitors_now_are_the_visits_that_go_on_by_their_latest_page(tmp_path: Path) -> None:
    at = 9 * DAY + 39
    visitors(tmp_path).batch(
        *(Event(at, user, "/help") for user in ("bob", "cid", "dan")), Event(at + 0.5, "cid", "/buy")
    )
    with serving(tmp_path, clock=lambda: NOW) as page:
        (said,) = re.findall('<section id="visitors-now".*?</section>', page.get("/").text, re.DOTALL)
        assert 'id="visitors-now"' not in page.get("/?page_url=/help").text
    said = text_of(said)
    assert "Visitors now 4 visits going on as of 2024-05-10 14:38:30, by the latest page" in said
    # Ann's visit of this afternoon is the only one of the scene that goes on.
    assert said.endswith("Page visits /help 2 /buy 1 /shop 1")
