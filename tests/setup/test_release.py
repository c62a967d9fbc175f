"""The files of `make release`: equal at each build, complete, with checksums and one version everywhere."""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from dev import image, release
from tidemark.pipeline.errors import SetUpError

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
NAMED = re.compile(
    r"""
      ^(?:version|appVersion|\ \ tag):\s*(\d+\.\d+\.\d+)$   # Chart.yaml, values.yaml, CITATION.cff
    | \btidemark:(\d+\.\d+\.\d+)                            # an image
    | image\.version="([^"]+)"                              # its label
    """,
    re.VERBOSE | re.MULTILINE,
)
FILES = (
    *("CITATION.cff", "docker-compose.yml", "deploy/docker/Dockerfile", "deploy/helm/tidemark/Chart.yaml"),
    *("deploy/helm/tidemark/values.yaml", "deploy/kubernetes/base/deployment.yaml"),
    "deploy/kubernetes/spark-operator/spark-application.yaml",
)
CHANGES = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the last commit, built twice."""
    first, second = (tmp_path_factory.mktemp("release") / name for name in ("first", "second"))
    assert release.differences(first, second) == []
    return first


@pytest.mark.slow
def test_two_builds_are_equal_and_have_every_file_with_its_checksum(built: Path) -> None:
    names = {path.name for path in built.iterdir()}
    wheel, sdist = f"tidemark_lake-{VERSION}-py3-none-any.whl", f"tidemark_lake-{VERSION}.tar.gz"
    assert names == {wheel, sdist, f"tidemark-{VERSION}.tgz", f"tidemark-lake-{VERSION}.cdx.json", "SHA256SUMS"}
    sums = dict(line.split("  ")[::-1] for line in (built / "SHA256SUMS").read_text().splitlines())
    assert sums == {name: hashlib.sha256((built / name).read_bytes()).hexdigest() for name in names - {"SHA256SUMS"}}


@pytest.mark.slow
def test_the_wheel_has_the_packages_and_the_lock_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    parts = {"command_line", "http_server", "kafka_access", "pipeline", "producers", "schemas"}
    assert {path.name for path in (ROOT / "tidemark").iterdir() if path.is_symlink()} == parts
    assert {name.partition("/")[0] for name in names} == {"tidemark", f"tidemark_lake-{VERSION}.dist-info"}
    assert {"tidemark/pipeline/tidemark-connector.jar", "tidemark/pipeline/jars.lock", "tidemark/py.typed"} <= {*names}
    tracked = subprocess.run(["git", "ls-files", *parts], cwd=ROOT, capture_output=True, text=True, check=True)
    sources = {name for name in tracked.stdout.split() if name.endswith((".py", ".html", ".css", ".js", ".avsc"))}
    missing = {name for name in sources if (ROOT / name).exists() and f"tidemark/{name}" not in names}
    assert missing <= _uncommitted()


def _uncommitted() -> set[str]:
    """Files that the last commit does not have."""
    status = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {line[3:] for line in status.stdout.splitlines()}


@pytest.mark.slow
def test_the_chart_is_one_that_helm_loads_and_the_sdist_builds_the_wheel(built: Path) -> None:
    import helm_python  # noqa: PLC0415 - a native library, which fast tests need not load

    with helm_python.Chart.load(str(built / f"tidemark-{VERSION}.tgz")) as chart:
        assert chart.render({}, name="clicks", namespace="clicks")
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "uv.lock", "jars.lock", "LICENSE", "README.md", "tidemark/pipeline/cli.py"} <= names
    assert [name for name in names if name.endswith((".jar", ".pyc"))] == ["tidemark/pipeline/tidemark-connector.jar"]


@pytest.mark.slow
def test_the_bill_of_materials_has_no_time_and_number_of_its_own(built: Path) -> None:
    bill = json.loads(next(built.glob("*.cdx.json")).read_text())
    assert bill["metadata"]["component"]["name"] == "tidemark-lake"
    assert bill["metadata"]["component"]["version"] == VERSION
    time = subprocess.run(
        ["git", "log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ"],
        cwd=ROOT,
        env={"TZ": "UTC", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert bill["metadata"]["timestamp"] == time.stdout.strip()


@pytest.mark.slow
def test_a_build_imports_what_is_shipped_and_what_builds_and_no_tool_of_tests() -> None:
    """The environment of `make release` has no more: tools of tests are hidden."""
    tools = ["hypothesis", "pytest", "playwright", "yaml", "helm_python", "polars", "testcontainers", "jdk", "mkdocs"]
    code = f"import sys; sys.modules |= dict.fromkeys({tools}); import dev.release"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", FILES)
def test_every_file_names_the_version_of_the_project(name: str) -> None:
    versions = {next(filter(None, match)) for match in NAMED.findall((ROOT / name).read_text())}
    assert versions == {VERSION}


def test_the_image_has_the_version_of_the_project() -> None:
    assert f"localhost/tidemark:{VERSION}" == image.NAME


def test_the_changelog_has_the_form_of_keep_a_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert releases[0].startswith("[Unreleased]\n")
    for part in releases:
        heading, _, body = part.partition("\n")
        assert re.fullmatch(r"\[Unreleased\]|\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading)
        kinds = re.findall(r"^### (.*)", body, re.MULTILINE)
        assert len(kinds) == len({*kinds})
        assert {*kinds} <= CHANGES


def test_what_is_left_to_do_before_the_tag_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {
        "status": " M pyproject.toml",
        "show": "# Changelog\n\n## [Unreleased]\n",
        "tag": f"v0.0.1\nv{VERSION}",
    }
    monkeypatch.setattr(release, "_git", lambda *words: answers[words[0]])
    assert [point.partition(" ")[0] for point in release.open_points()] == ["the", "CHANGELOG.md", "the"]
    answers |= {"status": "", "show": f"## [Unreleased]\n\n## [{VERSION}] - 2026-12-01\n", "tag": ""}
    assert list(release.open_points()) == []


def test_a_folder_without_git_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(SetUpError, match=r"`git log` failed: .*not a git repository"):
        release.build(tmp_path / "dist")
