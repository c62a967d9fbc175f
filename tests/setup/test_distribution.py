"""The name under which pip finds Tidemark: `tidemark` on PyPI is another program, whose command has that name, too."""

import re
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
OTHER: Final = re.compile(
    r"""
      pip\b.*[\s'"]tidemark(?![-\w:/])     # pip install tidemark, pip3 install 'tidemark==0.1'
    | \binstall\ `?tidemark(?![-\w])       # in a sentence
    | \btidemark\[[a-z]                    # with an extra
    | \bname\s*=\s*"tidemark"              # pyproject.toml, uv.lock
    | \bversion\("tidemark"\)              # importlib.metadata
    | pypi\.org/(project|simple)/tidemark\b(?!-)
    """,
    re.VERBOSE,
)


def texts() -> list[tuple[Path, str]]:
    """Yields every text of the repository except this file."""
    tops = [top for top in ROOT.iterdir() if not re.fullmatch(r"\.(?!ci).*|build|dist|warehouse", top.name)]
    files = [file for top in tops for file in ([top] if top.is_file() else top.rglob("*")) if file.is_file()]
    wanted = [file for file in files if file != Path(__file__) and file.suffix not in {".pyc", ".jar"}]
    return [(file, file.read_text("utf-8", "ignore")) for file in wanted]


@pytest.mark.parametrize(
    "text",
    [
        "pip install tidemark",
        "pip install 'tidemark[sql]'",
        "uv pip install --upgrade tidemark==0.1.0",
        "install tidemark again",
        'name = "tidemark"',
        'version("tidemark")',
        "https://pypi.org/project/tidemark/",
    ],
)
def test_the_name_of_the_other_program_is_found(text: str) -> None:
    assert OTHER.search(text)
    assert not OTHER.search(text.replace("tidemark", "tidemark-lake"))


def test_no_text_recommends_to_install_the_other_program() -> None:
    lines = [(file, line) for file, text in texts() for line in text.splitlines() if "tidemark" in line]
    assert [f"{file.relative_to(ROOT)}: {line}" for file, line in lines if OTHER.search(line)] == []


def test_the_distribution_has_the_commands_and_the_extras_that_messages_name() -> None:
    ours = distribution("tidemark-lake")
    assert {entry.name for entry in ours.entry_points} == {"tidemark", "producers"}
    assert set(ours.metadata.get_all("Provides-Extra") or ()) == {"sql"}
