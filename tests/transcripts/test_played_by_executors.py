"""Transcript and model hold where executors do all jobs: three transcripts in each run, all by night."""

from operator import attrgetter

import pytest

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.seeds import drawn
from tests.transcripts.place import Place
from tests.transcripts.playing import play
from tests.transcripts.selected import BY_EXECUTORS, selected
from tests.transcripts.transcript import Transcript
from tidemark.pipeline.tables.large import FOLDER

pytestmark = pytest.mark.jvm
ALL_IS_LARGE = {"conf": BRIEF_DRIVER, "large": "executors", "large_from": 1}


@pytest.mark.parametrize("transcript", drawn(selected(BY_EXECUTORS), 2), ids=attrgetter("name"))
def test_the_service_does_the_same_where_all_is_large(transcript: Transcript, place: Place) -> None:
    play(transcript, place, spark=ALL_IS_LARGE)
    written = {path.relative_to(place.warehouse).parts[0] for path in place.warehouse.glob(f"*/{FOLDER}/**/*.parquet")}
    assert "panes" in written
    assert len(written) > 1, "no result was written by executors"
