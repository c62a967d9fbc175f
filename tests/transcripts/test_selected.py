"""The transcripts that are selected by name exist, and each file has one that a query plays."""

from tests.transcripts.selected import BY_EXECUTORS, BY_QUERY, REBATCHED, plays_by_query, selected
from tests.transcripts.transcript_files import HERE, subjects, transcripts_of


def test_each_name_is_that_of_a_transcript() -> None:
    for names in (BY_QUERY, REBATCHED, BY_EXECUTORS):
        assert {transcript.name for transcript in selected(names)} == names


def test_a_query_plays_a_transcript_of_each_file() -> None:
    assert all(any(map(plays_by_query, transcripts_of(subject))) for subject in subjects())


def test_a_test_file_plays_each_file() -> None:
    played = {path.stem.removeprefix("test_played_") for path in HERE.glob("test_played_*.py")}
    assert played >= {*subjects()}
