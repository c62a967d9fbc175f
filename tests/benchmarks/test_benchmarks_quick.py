"""Parts of the benchmarks run, with the small sizes of `--quick`: a third each night, because all need an hour."""

import json
from pathlib import Path

import pytest

from benchmarks.cli import main
from benchmarks.options import PARTS, WITH_FLINK
from tests.support.seeds import SEED

pytestmark = [pytest.mark.nightly, pytest.mark.jvm, pytest.mark.broker]
ELSEWHERE = {"versions", WITH_FLINK}
"""The first compares with another checkout; the test of Flink runs the second."""
NIGHTS = 3


@pytest.mark.parametrize("part", [part for part in PARTS if part not in ELSEWHERE][SEED % NIGHTS :: NIGHTS])
def test_a_part_runs_to_its_end_and_is_written_down(part: str, tmp_path: Path) -> None:
    assert main(["--quick", "--jobs", "ours", "--only", part], tmp_path) == 0
    document = json.loads(next(tmp_path.glob("*.json")).read_text())
    assert document[part]
