"""The wheel in an environment of its own, away from the repository, with a home that cannot be written."""

import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest

from dev.environment import ROOT
from dev.unpack import unpack
from tests.deploy.wheel import NO_MIRROR, java_variables, run
from tests.support.seeds import in_turn
from tidemark.pipeline.runtime.jars import cache, jars_of

pytestmark = pytest.mark.slow
COUNT = (
    "import tidemark; from tidemark.pipeline.runtime.spark import spark_session; "
    "from tidemark.pipeline.settings.model import *; "
    "print(tidemark.__file__, spark_session(SparkSettings(conf={'spark.driver.memory': '1g'})).range(7).count())"
)


def test_the_commands_run_and_read_a_warehouse(wheel_environment: Path, tmp_path: Path) -> None:
    with tarfile.open(ROOT / "tests" / "stored" / "format-1.tar.xz") as archive:
        unpack(archive, tmp_path)
    assert run(wheel_environment, tmp_path, "tidemark", "--version").stdout == f"tidemark {version('tidemark-lake')}\n"
    assert run(wheel_environment, tmp_path, "producers", "--version").returncode == 0
    for verb in (["status"], ["verify"], ["report", "--day", "2024-05-01"], ["support-bundle"]):
        done = run(wheel_environment, tmp_path, "tidemark", *verb, f"--warehouse={tmp_path / 'format-1'}")
        assert done.returncode == 0, done.stderr
    bundle = (tmp_path / "tidemark-support.txt").read_text()
    assert "events are counted once: 0 violations" in bundle
    assert "missing jars: 1 of 1" in bundle


def test_modules_of_the_user_with_names_of_our_parts_change_nothing(wheel_environment: Path, tmp_path: Path) -> None:
    for name in ("pipeline", "schemas", "producers"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this is the module of the user')\n")
    theirs = {"PYTHONPATH": str(tmp_path)}
    for program in ("tidemark", "producers"):
        assert run(wheel_environment, tmp_path, program, "--version", **theirs).returncode == 0
    read = run(wheel_environment, tmp_path, "python", "-c", "import tidemark; tidemark.Settings", **theirs)
    assert read.returncode == 0, read.stderr


def test_without_a_folder_for_jars_the_message_names_the_variable(wheel_environment: Path, tmp_path: Path) -> None:
    done = run(wheel_environment, tmp_path, "tidemark", "setup")
    assert done.returncode == 2
    assert "Jars cannot be stored in /proc/.cache/tidemark/jars" in done.stderr
    assert "set TIDEMARK_JARS_CACHE to a folder that this user can write, or that has all jars" in done.stderr


def test_without_a_network_the_message_names_both_variables(wheel_environment: Path, tmp_path: Path) -> None:
    into = {"TIDEMARK_JARS_CACHE": str(tmp_path / "jars")}
    code = (
        "import sys; from tidemark.pipeline.runtime import jars\n"
        "try: jars.provide(jars.locked('spark'), jars.cache(), jars.mirror(), ())\n"
        "except Exception as error: sys.exit(str(error))"
    )
    done = run(wheel_environment, tmp_path, "python", "-c", code, **into)
    assert "jars_downloading" in done.stderr
    assert NO_MIRROR in done.stderr
    assert "set TIDEMARK_MAVEN_MIRROR to a Maven repository that this machine can reach" in done.stderr
    assert "or TIDEMARK_JARS_CACHE to a folder with all jars" in done.stderr


def test_nothing_is_downloaded_that_is_present(wheel_environment: Path, tmp_path: Path) -> None:
    jars_of("spark")
    jars_of("s3")
    variables = {"TIDEMARK_JARS_CACHE": str(cache())}
    assert run(wheel_environment, tmp_path, "tidemark", "setup", **variables).stdout == f"1 jar in {cache()}\n"
    done = run(wheel_environment, tmp_path, "tidemark", "setup", "--s3", **variables)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.jvm
@in_turn(1, 2)
def test_spark_starts_offline_from_a_folder_of_jars(wheel_environment: Path, tmp_path: Path) -> None:
    done = run(wheel_environment, tmp_path, "python", "-c", COUNT, **java_variables())
    assert done.stdout.split() == [str(next(wheel_environment.rglob("site-packages/tidemark/__init__.py"))), "7"], (
        done.stderr
    )
    assert "jars_downloading" not in done.stderr
