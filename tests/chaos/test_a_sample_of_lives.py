"""Some cells of the fault matrix, so that every point and every fault is met: a store that fails, and lives that do."""

from pathlib import Path

import pytest

from tests.chaos.library import NEEDS_FAULTS
from tests.chaos.play import Play
from tests.chaos.sample import assert_played_well, sample
from tests.support.kafka_cluster import Cluster

HERE = sample("a_store_and_lives_that_fail")


@NEEDS_FAULTS
@pytest.mark.long
@pytest.mark.parametrize("play", HERE.values(), ids=HERE)
def test_the_service_goes_on_and_the_tables_are_right(broker: Cluster, tmp_path: Path, play: Play) -> None:
    assert_played_well(play, broker, tmp_path / "play")
