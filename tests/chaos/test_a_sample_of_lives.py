"""Cells of the fault matrix that the seed of the run draws; by night, a store and lives that fail at every point."""

from pathlib import Path

import pytest

from tests.chaos.library import NEEDS_FAULTS
from tests.chaos.play import Play
from tests.chaos.sample import assert_played_well, drawn, sample
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import SEED, in_turn

pytestmark = pytest.mark.broker

ALL = [pytest.param(play, marks=pytest.mark.nightly) for play in sample("a_store_and_lives_that_fail").values()]


@NEEDS_FAULTS
@pytest.mark.long
@pytest.mark.parametrize("play", [pytest.param(drawn(SEED), marks=in_turn(1, 4)), *ALL], ids=["drawn", "all"])
def test_the_service_goes_on_and_the_tables_are_right(broker: Cluster, tmp_path: Path, play: Play) -> None:
    assert_played_well(play, broker, tmp_path / "play")
