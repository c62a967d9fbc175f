"""The package exports its front door, and no more."""

import subprocess
import sys
from pathlib import Path

import pytest

import pipeline

README = Path(__file__).parents[2] / "README.md"


def test_the_front_door_is_sorted_and_every_name_is_there() -> None:
    assert pipeline.__all__ == sorted(pipeline.__all__)
    assert all(callable(getattr(pipeline, name)) for name in pipeline.__all__)


def test_it_has_nothing_else() -> None:
    with pytest.raises(AttributeError, match="no attribute 'close_service'"):
        _ = pipeline.close_service


def test_the_readme_goes_in_by_it() -> None:
    assert f"from pipeline import {', '.join(pipeline.__all__)}" in README.read_text()


def test_the_front_door_does_not_import_spark() -> None:
    code = "import sys, pipeline; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
