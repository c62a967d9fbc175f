"""The service satisfies the transcripts of tutorials.yaml, and agrees with the model throughout."""

import pytest

from tests.transcripts.place import Place
from tests.transcripts.playing import play
from tests.transcripts.selected import each
from tests.transcripts.transcript import Transcript
from tests.transcripts.transcript_files import transcripts_of

pytestmark = [pytest.mark.jvm, pytest.mark.core]


@each(transcripts_of("tutorials"))
def test_the_service_does_what_transcript_and_model_say(transcript: Transcript, place: Place) -> None:
    play(transcript, place)
