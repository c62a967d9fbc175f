"""Builds the documents as a web site: `make site`. A link or an anchor that leads nowhere fails.

The pages are copied with the files that they link to, because MkDocs reads one folder, and links lead out of `docs`.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "build" / "site"
LINK: Final = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)\s#]+)(#[^)\s]*)?\)")
"""Matches a link to a file: its text, its path and its anchor."""
_BLOCK: Final = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)
_LIST: Final = re.compile(r"^(?![-*|#>\s]|\d+\. )(.+)\n(?=[-*] |\d+\. )", re.MULTILINE)
"""Matches a line of a paragraph before a list. GitHub needs no empty line between them, MkDocs does."""


def slug(heading: str, _: str = "-") -> str:
    """Returns the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def pages() -> list[Path]:
    """Returns every document for people who use or change Tidemark."""
    readmes = (*ROOT.glob("[a-z]*/README.md"), *ROOT.glob("deploy/*/README.md"))
    return sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *readmes})


def collect(folder: Path) -> None:
    """Copies the pages and the files that they link to into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for page in pages():
        text = page.read_text()
        _target(page, folder).write_text(prepared(text, page.parent))
        for file in _files(text, page.parent):
            if file.suffix != ".md":
                shutil.copyfile(file, _target(file, folder))


def prepared(text: str, parent: Path) -> str:
    """Returns a page of folder `parent` as MkDocs needs it: links to files only, and lists after empty lines."""

    def linked(link: re.Match[str]) -> str:
        path = parent / link[2]
        if not path.is_dir():
            return link[0]
        return f"[{link[1]}]({link[2]}/README.md)" if (path / "README.md").exists() else link[1]

    parts = _BLOCK.split(text)
    parts[::2] = [_LIST.sub(r"\1\n\n", LINK.sub(linked, part)) for part in parts[::2]]
    return "".join(parts)


def _files(text: str, parent: Path) -> Iterator[Path]:
    for part in _BLOCK.split(text)[::2]:
        for link in LINK.finditer(part):
            path = (parent / link[2]).resolve()
            if path.is_file():
                yield path


def _target(file: Path, folder: Path) -> Path:
    path = folder / file.relative_to(ROOT)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def render(pages: Path, site: Path) -> int:
    """Renders the copied pages into `site`; returns the exit code, which is 1 after any warning."""
    settings = (ROOT / "mkdocs.yml").read_text().replace("build/site/pages", str(pages))
    config = pages.parent / "mkdocs.yml"
    config.write_text(settings)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", f"--config-file={config}"]
    return subprocess.run([*command, f"--site-dir={site}"], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    collect(FOLDER / "pages")
    code = render(FOLDER / "pages", FOLDER / "html")
    if code == 0:
        sys.stdout.write(f"{FOLDER / 'html' / 'index.html'}\n")
    sys.exit(code)
