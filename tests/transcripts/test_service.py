"""The service satisfies every transcript on a real broker, one drain per step, and agrees with the model throughout."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.tables.large import FOLDER
from pipeline.tuning import STANDARD, Tuning
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP
from tests.transcripts import transcript_files
from tests.transcripts.model import Model
from tests.transcripts.random_transcript import SEEDS, random_transcript
from tests.transcripts.rebatched import counts, rebatched
from tests.transcripts.stage import Stage
from tests.transcripts.transcript import Seen, Tables, Transcript
from tests.transcripts.transcript_files import transcripts

ALL = transcripts()
REBATCHED = {
    "tutorial_allowed_lateness_refires",
    "an_event_may_be_too_late_for_one_window_and_in_time_for_the_next",
    "two_sessions_that_a_late_event_joins_become_one",
    "an_event_may_be_too_late_for_one_report_and_in_time_for_another",
    "windows_fill_by_partition_and_then_offset_whatever_came_first",
    "a_late_event_joins_two_sessions_of_a_user",
    "a_late_event_joins_two_sessions_and_takes_a_begin_from_the_next_window",
}
ALL_AT_ONCE = 1_000
BY_EXECUTORS = {
    "tutorial_allowed_lateness_refires",
    "an_event_may_be_too_late_for_one_window_and_in_time_for_the_next",
    "hours_of_a_zone_half_an_hour_off_fire_again_and_close",
    "the_page_on_which_a_session_begins_is_its_landing_page",
    "windows_that_overlap_each_have_the_last_page_within_them_across_a_restart",
    "windows_fill_by_partition_and_then_offset_whatever_came_first",
    "two_sessions_that_a_late_event_joins_become_one",
}
ALL_IS_LARGE = {"conf": BRIEF_DRIVER, "large": "executors", "large_from": 1}


@pytest.mark.parametrize("transcript", ALL, ids=lambda transcript: transcript.name)
def test_the_service_does_what_transcript_and_model_say(
    transcript: Transcript, broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    play(transcript, broker, make_topic(transcript.value("partitions"), **ANY_TIMESTAMP), tmp_path)


@pytest.mark.parametrize("at_most", [2, ALL_AT_ONCE])
@pytest.mark.parametrize(
    "transcript",
    [transcript for transcript in ALL if transcript.name in REBATCHED],
    ids=lambda transcript: transcript.name,
)
def test_the_service_agrees_with_the_model_in_larger_batches(
    transcript: Transcript, at_most: int, broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = make_topic(transcript.value("partitions"), **ANY_TIMESTAMP)
    play(rebatched(transcript, at_most), broker, topic, tmp_path)


@pytest.mark.parametrize(
    "transcript",
    [transcript for transcript in ALL if transcript.name in BY_EXECUTORS],
    ids=lambda transcript: transcript.name,
)
def test_the_service_does_the_same_where_all_is_large(
    transcript: Transcript, broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = make_topic(transcript.value("partitions"), **ANY_TIMESTAMP)
    play(transcript, broker, topic, tmp_path, spark=ALL_IS_LARGE)
    written = {path.relative_to(tmp_path).parts[0] for path in tmp_path.glob(f"*/{FOLDER}/**/*.parquet")}
    assert "panes" in written
    assert len(written) > 1, "no result was written by executors"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_service_agrees_with_the_model_on_random_transcripts(
    seed: int, broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    """Settings, reports, events, partitions, cuts, pauses and restarts by chance; upkeep after every second batch."""
    transcript = random_transcript(seed)
    topic = make_topic(transcript.value("partitions"), **ANY_TIMESTAMP)
    play(transcript, broker, topic, tmp_path, Tuning(upkeep_batches=2, merged_runs=2))


def play(
    transcript: Transcript,
    broker: Cluster,
    topic: str,
    warehouse: Path,
    tuning: Tuning = STANDARD,
    **more: Mapping[str, Any],
) -> None:
    """Plays a transcript, and compares the tables with its expectations and with the model; `more` are settings."""
    model = Model(transcript)
    before: Tables = {}
    with Stage(transcript, broker, topic, warehouse, tuning, **more) as stage:
        for step in transcript.steps:
            seen = stage.play(step)
            assert_equal(seen, model.play(step), transcript)
            if step.expected:
                transcript_files.check(step, model.transcript, before, seen)
            before = seen.tables
        # A cut that cuts nothing would test nothing.
        assert not transcript.value("max_records") or stage.batches > len(transcript.steps)
    assert_conserved(warehouse)


def assert_equal(seen: Seen, expected: Seen, transcript: Transcript) -> None:
    """All the same; but where a step may be cut into several batches, all that does not depend on the cut."""
    if not transcript.value("max_records"):
        assert seen == expected
        return
    assert (seen.watermark, seen.dead, seen.duplicates) == (expected.watermark, expected.dead, expected.duplicates)
    for name in expected.tables:
        assert counts(seen.tables, name) == counts(expected.tables, name)
