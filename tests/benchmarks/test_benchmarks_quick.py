"""Every part of the benchmarks runs, with the small sizes of `--quick`."""

import json
from pathlib import Path

import pytest

from benchmarks.cli import main
from benchmarks.options import PARTS, WITH_FLINK

pytestmark = [pytest.mark.nightly, pytest.mark.jvm, pytest.mark.broker]
ELSEWHERE = {"versions", WITH_FLINK}
"""The first compares with another checkout; the test of Flink runs the second."""


@pytest.mark.parametrize("part", [part for part in PARTS if part not in ELSEWHERE])
def test_a_part_runs_to_its_end_and_is_written_down(part: str, tmp_path: Path) -> None:
    assert main(["--quick", "--jobs", "ours", "--only", part], tmp_path) == 0
    document = json.loads(next(tmp_path.glob("*.json")).read_text())
    assert document[part]
