"""The service agrees with the model where the steps of a transcript are merged into larger batches.

CI merges those of four transcripts, others in each run; the night those of all.
"""

import pytest

from tests.support.seeds import drawn
from tests.transcripts.place import Place
from tests.transcripts.playing import play
from tests.transcripts.rebatched import rebatched
from tests.transcripts.selected import REBATCHED, selected
from tests.transcripts.transcript import Transcript

pytestmark = pytest.mark.jvm
ALL_AT_ONCE = 1_000


@pytest.mark.parametrize(
    ("transcript", "at_most"),
    drawn(
        [
            pytest.param(transcript, at_most, id=f"{transcript.name}-{at_most}")
            for transcript in selected(REBATCHED)
            for at_most in (2, ALL_AT_ONCE)
        ],
        count=4,
    ),
)
def test_the_service_agrees_with_the_model_in_larger_batches(
    transcript: Transcript, at_most: int, place: Place
) -> None:
    play(rebatched(transcript, at_most), place)
