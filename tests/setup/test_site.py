"""The documents as a web site: every page is in its navigation, and a link that leads nowhere ends the build."""

import re
from pathlib import Path

import pytest

from dev import site


def test_every_page_is_in_the_navigation_or_a_decision() -> None:
    listed = set(re.findall(r": (\S+\.md)$", (site.ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    existing = {str(page.relative_to(site.ROOT)) for page in site.pages()}
    assert {page for page in existing if not page.startswith("docs/decisions/0")} == listed


def test_a_list_is_separated_and_a_link_to_a_folder_leads_to_its_page_or_is_text() -> None:
    text = "Start:\n- [a](decisions), [b](pictures)\n- [c](runbook.md#x)\n\n```\nStart:\n- [a](decisions)\n```\n"
    expected = "Start:\n\n- [a](decisions/README.md), b\n- [c](runbook.md#x)\n\n```\nStart:\n- [a](decisions)\n```\n"
    assert site.prepared(text, site.ROOT / "docs") == expected


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    site.collect(tmp_path / "pages")
    assert site.render(tmp_path / "pages", tmp_path / "html") == 0
    pages = [*(tmp_path / "html").rglob("index.html")]
    assert len(pages) >= len(site.pages()) - 1
    for page in pages:
        assert not re.search(r"<(script|link|img)[^>]*(src|href)=\"https?:", page.read_text()), page


@pytest.mark.slow
@pytest.mark.parametrize("link", ["nowhere.md", "runbook.md#nowhere", "../Makefile.md", "/docs/runbook.md"])
def test_a_link_that_leads_nowhere_fails(tmp_path: Path, link: str) -> None:
    site.collect(tmp_path / "pages")
    with (tmp_path / "pages" / "docs" / "operations.md").open("a") as page:
        page.write(f"\n[somewhere]({link})\n")
    assert site.render(tmp_path / "pages", tmp_path / "html") == 1
