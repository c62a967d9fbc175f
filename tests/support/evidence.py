"""Runs that documents quote, as `commit abc1234 (2026-11-22)`: a page with an old run says so in its first line.

A run is old once files of the protocols have changed since its commit. `python -m tests.support.evidence`, and so
`make pages`, writes that line into each page, or removes it. Each generator of docs/evidence.md writes its own section.
"""

import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
EVIDENCE: Final = ROOT / "docs" / "evidence.md"
PAGES: Final = (EVIDENCE, ROOT / "docs" / "performance.md")
PROTOCOLS: Final = ("connector", "pipeline/results", "pipeline/service", "pipeline/tables")
_WRITTEN: Final = ("docs/evidence.md", "tests/chaos/kept.json", "tests/simulation/kept.json")
"""Files that runs write: another run at the same commit has the same code."""
_QUOTED: Final = re.compile(r"commit ([0-9a-f]{7,40})\+?\s\((\d{4}-\d\d-\d\d)\)")
_NOTICE: Final = re.compile(r"\*\*Part of this page is old:\*\* .*?\n\n", re.DOTALL)


@dataclass(frozen=True, order=True)
class Run:
    """The day of a run, and the commit of the code that ran, with a + if there were uncommitted changes."""

    date: str
    commit: str

    def __str__(self) -> str:
        return f"commit {self.commit} ({self.date})"


def run_now() -> Run:
    """Returns today and the commit that is checked out; `unknown` without a history of git."""
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", ".", *(f":!{path}" for path in _WRITTEN))
    commit = (_git("rev-parse", "--short=8", "HEAD") or "unknown").strip()
    return Run(f"{datetime.now(UTC):%Y-%m-%d}", commit + "+" * bool(changes))


def has_history() -> bool:
    """Returns whether this folder is a complete clone; an sdist and a shallow clone have no history."""
    answer = _git("rev-parse", "--show-toplevel", "--is-shallow-repository")
    return answer is not None and answer.split("\n")[:2] == [str(ROOT), "false"]


def has_changed(commit: str) -> bool:
    """Returns whether the protocols have changed since a commit. They have if the history does not contain it."""
    return _git("diff", "--name-only", f"{commit}..HEAD", "--", *PROTOCOLS) != ""


def quoted_runs(text: str) -> set[Run]:
    """Returns the runs that a page quotes, except for the run that its notice names.

    >>> quoted_runs("Run at commit abc1234 (2026-11-22), and again at commit abc1235+ (2026-11-23).") == {
    ...     Run("2026-11-22", "abc1234"), Run("2026-11-23", "abc1235")
    ... }
    True
    """
    return {Run(date, commit) for commit, date in _QUOTED.findall(without_notice(text))}


def without_notice(text: str) -> str:
    """Returns a page without its first line on an old run."""
    return _NOTICE.sub("", text, count=1)


def with_notice(text: str, is_old: Callable[[str], bool] = has_changed) -> str:
    """Returns a page with a first line on the oldest of its old runs; without such a line if it quotes no old run."""
    old = sorted(run for run in quoted_runs(text) if is_old(run.commit))
    title, _, rest = without_notice(text).partition("\n\n")
    return "\n\n".join([title, *map(_notice, old[:1]), rest])


def _notice(run: Run) -> str:
    folders = ", ".join(f"`{folder}`" for folder in PROTOCOLS)
    return (
        f"**Part of this page is old:** it was run at {run}, and code of the protocols has changed since\n({folders})."
    )


def write(page: Path, text: str) -> None:
    """Writes a page with its notice. Without a history of git the age of its runs is unknown, and it has no notice."""
    page.write_text(with_notice(text) if has_history() else text)


def section(text: str, heading: str) -> str:
    """Returns the section of a page from a heading of level 2 to the next heading of that level, or to the end."""
    found = re.search(rf"^{re.escape(heading)}\n.*?(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    if not found:
        raise ValueError(f"the page has no heading '{heading}': add it where the section belongs")
    return found[0].rstrip() + "\n"


def with_section(text: str, new: str) -> str:
    """Returns a page with a section in place of its section of the same heading."""
    return text.replace(section(text, new.partition("\n")[0]), new)


def write_section(new: str) -> None:
    """Writes one section of docs/evidence.md, and leaves what other generators wrote."""
    write(EVIDENCE, with_section(EVIDENCE.read_text(), new))


def renew(pages: Iterable[Path] = PAGES) -> None:
    """Writes the first line of each page again."""
    for page in pages:
        write(page, page.read_text())


def _git(*words: str) -> str | None:
    """Returns the output of git; None if git or its history is missing."""
    try:
        return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


if __name__ == "__main__":
    renew()
