"""Some cells of the fault matrix, played by night: faults of the broker and of executors."""

from pathlib import Path

import pytest

from tests.chaos.faults import FAULTS, OFTEN, Need
from tests.chaos.library import NEEDS_FAULTS
from tests.chaos.play import Play
from tests.chaos.points import POINTS
from tests.chaos.sample import assert_played_well, drawn, sample
from tests.support.kafka_cluster import Cluster

HERE = sample("a_broker_that_comes_and_goes", "executors")


def test_every_point_and_every_fault_is_in_the_sample_of_the_night() -> None:
    strikes = [strike for play in sample().values() for strike in play.strikes]
    assert {strike.point.name for strike in strikes} == {point.name for point in POINTS}
    assert {strike.fault.name for strike in strikes} == {fault.name for fault in (*FAULTS, OFTEN)}


@NEEDS_FAULTS
@pytest.mark.nightly
@pytest.mark.parametrize("play", HERE.values(), ids=HERE)
def test_the_service_goes_on_and_the_tables_are_right(broker: Cluster, tmp_path: Path, play: Play) -> None:
    assert_played_well(play, broker, tmp_path / "play")


def test_seeds_draw_every_point_and_every_fault_but_those_of_executors() -> None:
    strikes = [strike for seed in range(100) for strike in drawn(seed).strikes]
    assert {strike.point.name for strike in strikes} == {point.name for point in POINTS}
    assert {strike.fault for strike in strikes} == {fault for fault in FAULTS if fault.need is not Need.EXECUTORS}
    assert all(len({strike.point for strike in drawn(seed).strikes}) == 3 for seed in range(100))
