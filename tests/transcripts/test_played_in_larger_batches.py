"""The service agrees with the model where the steps of a transcript are merged into larger batches."""

import pytest

from tests.transcripts.place import Place
from tests.transcripts.playing import play
from tests.transcripts.rebatched import rebatched
from tests.transcripts.selected import REBATCHED, each, selected
from tests.transcripts.transcript import Transcript

pytestmark = pytest.mark.jvm
ALL_AT_ONCE = 1_000


@pytest.mark.parametrize("at_most", [2, ALL_AT_ONCE])
@each(selected(REBATCHED))
def test_the_service_agrees_with_the_model_in_larger_batches(
    transcript: Transcript, at_most: int, place: Place
) -> None:
    play(rebatched(transcript, at_most), place)
