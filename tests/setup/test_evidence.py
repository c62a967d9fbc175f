"""A page that quotes a run from before a change of the protocols says so in its first line."""

import subprocess
from pathlib import Path

import pytest

from tests.support import evidence
from tests.support.evidence import (
    EVIDENCE,
    PAGES,
    PROTOCOLS,
    Run,
    quoted_runs,
    section,
    with_notice,
    with_section,
    without_notice,
)

PAGE = "# Runs\n\nA sentence.\n\n- commit aaaaaaa (2026-01-02): first\n- commit bbbbbbb+ (2026-01-03): second\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_its_oldest_run_in_its_first_line_if_the_protocols_have_changed_since(page: Path) -> None:
    if not evidence.has_history():
        pytest.skip("no history of git: the age of the quoted runs is unknown")
    text = page.read_text()
    assert quoted_runs(text), "the page quotes no run"
    assert text == with_notice(text), "`make pages` writes the first line of pages that quote runs"


def test_the_notice_follows_the_title_and_names_the_oldest_run() -> None:
    old = with_notice(PAGE, lambda _: True)
    assert old.split("\n\n")[1].startswith("**Part of this page is old:** it was run at commit aaaaaaa (2026-01-02), ")
    assert with_notice(PAGE, "bbbbbbb".__eq__).split("\n\n")[1].count("commit bbbbbbb (2026-01-03)") == 1


def test_another_commit_changes_no_notice_and_new_runs_remove_it() -> None:
    old = with_notice(PAGE, "aaaaaaa".__eq__)
    assert with_notice(old, lambda _: True) == old
    assert with_notice(old, lambda _: False) == without_notice(old) == PAGE


def test_a_run_is_old_once_a_file_of_the_protocols_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def commit(path: str) -> str:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        for words in (("add", "."), (*identity, "commit", "--quiet", "--message", path)):
            subprocess.run(["git", *words], cwd=tmp_path, check=True)
        return evidence.run_now().commit

    monkeypatch.setattr(evidence, "ROOT", tmp_path)
    assert not evidence.has_history()
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    first = commit("README.md")
    last = commit("docs/page.md")
    assert (evidence.has_history(), evidence.has_changed(first), evidence.has_changed("0" * 8)) == (True, False, True)
    for folder in PROTOCOLS:
        commit(f"{folder}/module.py")
        assert evidence.has_changed(last)
        last = evidence.run_now().commit
        assert not evidence.has_changed(last)
    (tmp_path / "README.md").write_text("uncommitted")
    assert evidence.run_now().commit == f"{last}+"


def test_a_run_of_uncommitted_code_counts_as_one_of_its_commit() -> None:
    assert quoted_runs(PAGE) == {Run("2026-01-02", "aaaaaaa"), Run("2026-01-03", "bbbbbbb")}


def test_a_section_is_replaced_and_the_others_stay() -> None:
    page = "# Page\n\nHead.\n\n## One\n\nFirst.\n\n### Part\n\n## Two\n\nSecond.\n"
    assert section(page, "## One") == "## One\n\nFirst.\n\n### Part\n"
    assert section(page, "## Two") == "## Two\n\nSecond.\n"
    assert with_section(page, "## Two\n\nOther.\n") == page.replace("Second", "Other")
    assert with_section(page, "## One\n\n$1.\n").partition("\n## One")[2] == "\n\n$1.\n\n## Two\n\nSecond.\n"
    with pytest.raises(ValueError, match="no heading '## Three'"):
        with_section(page, "## Three\n")


def test_a_generator_writes_its_section_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "evidence.md"
    page.write_text("# Page\n\nHead.\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n")
    monkeypatch.setattr(evidence, "EVIDENCE", page)
    evidence.write_section("## One\n\nIt ran at commit 0000000 (2026-01-01).\n")
    assert section(page.read_text(), "## One") == "## One\n\nIt ran at commit 0000000 (2026-01-01).\n"
    assert section(page.read_text(), "## Two") == "## Two\n\nSecond.\n"
    notice = evidence.has_history()
    assert page.read_text().startswith("# Page\n\n" + "**Part of this page is old:**" * notice)


def test_the_page_has_a_section_of_each_generator() -> None:
    headings = [line for line in EVIDENCE.read_text().splitlines() if line.startswith("## ")]
    assert headings == ["## Injected faults", "## Interleavings of writers", "## Mutants"]
