"""Workflows and forms of GitHub, and the citation: valid by their schemas, and as safe as the build."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [path for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", WORKFLOWS),
        ("custom.github-workflows-require-timeout", WORKFLOWS),
        ("vendor.github-issue-forms", FORMS),
        ("vendor.github-issue-config", [ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"]),
        ("vendor.citation-file-format", [ROOT / "CITATION.cff"]),
    ],
)
def test_the_files_are_valid(schema: str, files: list[Path]) -> None:
    command = [str(Path(sys.executable).with_name("check-jsonschema")), "--builtin-schema", schema]
    done = subprocess.run([*command, "--force-filetype", "yaml", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text())["jobs"]
    return found


CI = jobs(ROOT / ".github" / "workflows" / "ci.yml")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_pins_what_it_uses_and_may_only_read(path: Path) -> None:
    assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}
    steps = [step for job in jobs(path).values() for step in job["steps"]]
    assert all(PINNED.fullmatch(step["uses"]) for step in steps if "uses" in step)
    for step in steps:
        assert "${{" not in step.get("run", ""), "a name of a branch or a tag must not become code"


def test_the_workflows_run_what_a_person_runs() -> None:
    lines = {path.stem: [step.get("run") for job in jobs(path).values() for step in job["steps"]] for path in WORKFLOWS}
    assert lines.keys() == {"ci", "release"}
    assert [line for line in lines["release"] if line][:4] == [
        "sudo CI=true .ci/components",
        "bash .ci/run",
        "make release ARGS=--check",
        "make release",
    ]


def runs(name: str) -> list[str]:
    """Returns the commands of a job of the workflow `ci`."""
    return [step["run"] for step in CI[name]["steps"] if "run" in step]


def test_the_workflow_runs_all_tests_once_with_every_component() -> None:
    assert runs("tests") == ["sudo CI=true .ci/components", "bash .ci/run"]
    assert pythons("tests") == ["3.11"]


def test_the_workflow_does_what_a_user_does() -> None:
    assert runs("compose") == ["bash .ci/compose"]
    lines = (ROOT / ".ci" / "compose").read_text()
    for word in ("docker compose up --build --wait", "psql", "9478", "tidemark verify", "down --volumes"):
        assert word in lines


def test_the_workflow_runs_on_macos_what_the_readme_says() -> None:
    assert CI["macos"]["runs-on"].startswith("macos-")
    assert runs("macos")[:2] == ["make setup", "make test-fast"]
    assert re.fullmatch(r"make test ARGS=\"-m 'broker .*'\"", runs("macos")[2])


def test_the_fast_tests_run_with_the_oldest_and_the_newest_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    classifiers = "\n".join(project["classifiers"])
    named = re.findall(r"^Programming Language :: Python :: (3\.\d+)$", classifiers, re.MULTILINE)
    assert pythons("pythons") == [project["requires-python"].removeprefix(">="), named[-1]]
    assert runs("pythons") == ["make test-fast"]
    spark = re.findall(r"^Classifier: Programming Language :: Python :: (3\.\d+)$", _metadata("pyspark"), re.MULTILINE)
    assert [python for python in spark if python in named] == named
    assert named[-1] == spark[-1], "the newest that PySpark supports"


def pythons(name: str) -> list[str]:
    """Returns the versions of Python with which a job of the workflow `ci` runs."""
    (version,) = [
        step["with"]["python-version"] for step in CI[name]["steps"] if "setup-python" in step.get("uses", "")
    ]
    matrix = CI[name].get("strategy", {}).get("matrix", {}).get("include", [])
    return [entry["python"] for entry in matrix] if version == "${{ matrix.python }}" else [version]


def _metadata(name: str) -> str:
    (folder,) = Path(yaml.__file__).parents[1].glob(f"{name}-*.dist-info")
    return (folder / "METADATA").read_text()


def test_a_bug_report_asks_for_the_support_bundle() -> None:
    form = (ROOT / ".github" / "ISSUE_TEMPLATE" / "bug.yml").read_text()
    assert "tidemark support-bundle --config tidemark.toml --output -" in form
    assert "SECURITY.md" in form
