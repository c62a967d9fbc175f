"""The name under which pip finds Tidemark: `tidemark` on PyPI is another program, whose command has that name, too."""

import re
import subprocess
import sys
from importlib.metadata import distribution, packages_distributions, requires
from pathlib import Path
from typing import Final

import click
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tidemark.command_line.extras import MODULES
from tidemark.command_line.main import run
from tidemark.pipeline.cli import tidemark
from tidemark.producers.cli import producers

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
    assert set(ours.metadata.get_all("Provides-Extra") or ()) == {"all", *MODULES.values()}


def test_each_module_of_an_extra_is_required_by_that_extra_alone() -> None:
    requirements = [Requirement(line) for line in requires("tidemark-lake") or ()]
    always = {each.name for each in requirements if each.marker is None}
    assert len(always) <= 15
    distributions = packages_distributions()  # reads the files of every package
    for module, extra in MODULES.items():
        (dependency,) = {*distributions[module]}
        markers = {str(each.marker) for each in requirements if each.name == canonicalize_name(dependency)}
        assert {'extra == "all"', f'extra == "{extra}"'} <= markers


@pytest.mark.parametrize("program", [tidemark, producers])
def test_a_verb_without_its_extra_names_it(program: click.Group, capsys: pytest.CaptureFixture[str]) -> None:
    @click.command("lacking")
    def lacking() -> None:
        raise ModuleNotFoundError("No module named 'jinja2'", name="jinja2")

    with_it = click.Group(program.name, commands=[*program.commands.values(), lacking])
    assert run(with_it, ["lacking"]) == 2
    said = capsys.readouterr().err
    assert said == f"{program.name}: this command needs the extra dashboard: pip install 'tidemark-lake[dashboard]'\n"


def without_extras(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a verb; an import of a module of an extra fails, as if it were not installed."""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({sorted(MODULES)}))"
    code = f"{blocked}\nfrom tidemark.{program}.cli import main\nsys.exit(main({list(words)}))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_verbs_are_listed_and_a_service_is_set_up_without_any_extra() -> None:
    for program, *words in (
        ("pipeline", "--help"),
        ("producers", "--help"),
        ("pipeline", "run", "--help"),
        ("pipeline", "check", "--help"),
        ("pipeline", "config", "show"),
    ):
        done = without_extras(program, *words)
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["dashboard"], ["report"], ["status"], ["support-bundle"], ["verify"]], ids=lambda words: words[0]
)
def test_a_verb_that_needs_an_extra_ends_with_one_sentence(words: list[str], tmp_path: Path) -> None:
    done = without_extras("pipeline", *words, "--warehouse", str(tmp_path))
    assert done.returncode == 2
    assert re.fullmatch(r"tidemark: this command needs the extra \w+: pip install '.*'\n", done.stderr), done.stderr
