"""Some cells of the fault matrix, so that every point and every fault is met: a store that fails, and lives that do."""

from pathlib import Path

import pytest

from tests.chaos.library import why_not
from tests.chaos.play import Play, perform
from tests.chaos.sample import sample
from tests.kafka_cluster import Cluster

HERE = sample("a_store_and_lives_that_fail")
NO_FAULTS = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


@NO_FAULTS
@pytest.mark.timeout(900)
@pytest.mark.parametrize("play", HERE.values(), ids=HERE)
def test_the_service_goes_on_and_the_tables_tell_the_truth(broker: Cluster, tmp_path: Path, play: Play) -> None:
    outcome = perform(play, broker, tmp_path / "play")
    assert outcome.error is None, f"{outcome.error}\n{(tmp_path / 'play' / 'error.txt').read_text()}"
