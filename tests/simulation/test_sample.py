"""A fixed sample of the search, and every plan that once failed; `make simulate` plays all."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LISTS = ("sample.txt", "regressions.txt")


def plans(name: str) -> list[str]:
    """The ids in a list; text after a space is for the reader."""
    lines = (HERE / name).read_text().splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTS)
def test_tables_are_right_whatever_writers_do_to_each_other(name: str) -> None:
    # In a process of its own, because it wraps the calls of delta-rs.
    command = [sys.executable, "-m", "tests.simulation", "--story", "0", *plans(name)]
    played = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, check=False)
    assert played.returncode == 0, played.stdout + played.stderr
    assert played.stdout.count(": right") == len(plans(name))
