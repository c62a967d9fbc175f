"""The image: pinned, small, without root, and made of what is locked."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.deploy.files import DOCKERFILE, ROOT, SERVICE, VARIABLE, bases, instructions, services, values_of
from tidemark.pipeline.settings.model import Settings

PINNED = re.compile(r"[\w./-]+:\d+\.\d+\.\d+(-[\w.-]+)?")


def last_stage() -> list[tuple[str, str]]:
    begins = [place for place, (word, _) in enumerate(instructions()) if word == "FROM"]
    return instructions()[begins[-1] :]


def test_hadolint_has_nothing_to_say() -> None:
    tool = Path(sys.executable).with_name("hadolint")
    checked = subprocess.run([tool, str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_every_base_is_pinned_to_a_version_and_the_stages_share_one_python() -> None:
    assert all(PINNED.fullmatch(base) for base in bases())
    assert len([base for base in bases() if base.startswith("python:")]) == 1
    assert values_of("FROM")[-2:] == ["java AS build", "java"], "what builds must not be in what runs"


def test_every_base_can_be_pinned_to_a_digest_where_it_is_built() -> None:
    assert all(VARIABLE.match(base) for base in values_of("FROM") if not base.startswith("java"))
    build = services()["tidemark"]["build"]
    assert {found[1] for base in values_of("FROM") for found in VARIABLE.finditer(base)} == set(build["args"])


def test_the_image_runs_as_a_user_that_is_not_root() -> None:
    users = [rest for word, rest in last_stage() if word == "USER"]
    assert users
    assert all(int(user) >= 1000 for user in users)


def test_python_packages_and_jars_come_from_the_locks() -> None:
    runs = " ".join(values_of("RUN"))
    assert runs.count("uv sync") == runs.count("uv sync --frozen ")
    assert "-m tidemark.pipeline.runtime.jars spark s3 --into /opt/tidemark/jars" in runs
    assert "pip install" not in runs


def test_build_packages_are_installed_first_and_removed_at_the_end() -> None:
    runs = " && ".join(values_of("RUN"))
    first, *others, last = re.findall(r"uv sync --frozen ([^&]+?)(?= &&|$)", runs)
    assert first == "--only-group build"
    assert all(each.startswith("--no-dev --all-extras --group build ") for each in others)
    assert last == "--no-dev --all-extras --no-editable"


def test_the_service_finds_at_run_time_the_jars_that_were_fetched_at_build_time() -> None:
    environment = dict(pair.split("=", 1) for rest in values_of("ENV") for pair in rest.split())
    assert environment["TIDEMARK_JARS_CACHE"] == "/opt/tidemark/jars"


def test_its_health_check_asks_the_service_whose_port_is_exposed() -> None:
    (check,) = values_of("HEALTHCHECK")
    assert check.endswith('CMD ["tidemark", "health"]')
    assert values_of("EXPOSE") == [str(Settings().metrics.port)]


def test_a_step_that_fails_fails_the_build() -> None:
    for step in values_of("RUN"):
        assert not re.search(r"\|\||;", step), "a step ends at its first failure"


def test_nothing_of_it_is_run_by_a_shell_but_its_building() -> None:
    for word in ("ENTRYPOINT", "CMD"):
        assert all(rest.startswith("[") for found, rest in last_stage() if found == word)


def test_everything_that_is_copied_is_there_and_not_ignored() -> None:
    copied = [rest.split() for rest in values_of("COPY") if not rest.startswith("--from")]
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert "pipeline/tidemark-connector.jar" in lines, "the image compiles its own"
    for source in (source for words in copied for source in words[:-1]):
        assert (ROOT / source).exists()
        assert source.removeprefix("./") in kept


def test_its_tag_is_the_version_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"tidemark:{project['version']}" == SERVICE
    assert SERVICE in DOCKERFILE.read_text()
