"""The archive of classes is used if it is complete, and everything works without it."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.brief_java import BRIEF_DRIVER
from tidemark.pipeline.runtime import classes
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings

SMALLER_THAN_IT = 50_000_000
MAKE = """
import sys
from pathlib import Path
from tidemark.pipeline.service import load_classes
load_classes.ARCHIVE = Path(sys.argv[1])
sys.exit(load_classes.main())
"""


def test_java_gets_an_archive_only_if_one_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "ARCHIVE", tmp_path / "archive")
    assert classes.archive_options() == ""
    classes.ARCHIVE.touch()
    assert f"-XX:SharedArchiveFile={tmp_path / 'archive'}" in classes.archive_options()


@pytest.mark.jvm
@pytest.mark.skipif(not classes.ARCHIVE.is_file(), reason="the archive does not exist; make test creates it")
def test_java_of_a_session_has_the_archive_in_its_memory() -> None:
    jvm = spark_session(SparkSettings(conf=BRIEF_DRIVER)).sparkContext._jvm
    assert jvm is not None
    assert str(classes.ARCHIVE) in Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}/maps").read_text()


@pytest.mark.jvm
@pytest.mark.nightly
def test_an_incomplete_archive_is_not_used(tmp_path: Path) -> None:
    """Java dies of one of which a part is missing."""
    made = subprocess.run(
        [sys.executable, "-c", MAKE, str(tmp_path / "archive")],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (SMALLER_THAN_IT, SMALLER_THAN_IT)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 1, made.stderr
    assert "the service starts more slowly" in made.stderr
    assert list(tmp_path.iterdir()) == []
