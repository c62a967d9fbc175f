"""Transcripts that the service plays in more ways than one, by name; and those that are drawn for a run.

The pure core plays every transcript in the fast tests. The service plays half of those that a query plays, and a sixth
of the others; it plays all by night.
"""

import pytest

from tests.support.seeds import drawn
from tests.transcripts.transcript import Transcript
from tests.transcripts.transcript_files import transcripts

BY_QUERY = {
    "hours_of_a_zone_half_an_hour_off_fire_again_and_close",
    "a_count_outlives_the_service",
    "windows_that_grow_are_shifted_by_an_offset_and_outlive_the_service",
    "ids_outlive_the_service",
    "windows_that_overlap_each_have_the_last_page_within_them_across_a_restart",
    "a_partition_that_returns_does_not_move_the_watermark_back",
    "what_is_too_late_for_sessions_may_be_in_time_for_minutes",
    "an_event_may_be_too_late_although_its_session_is_still_open",
    "a_session_outlives_the_service",
    "a_partition_that_has_told_no_time_since_holds_the_watermark",
    "where_all_are_idle_an_advancing_watermark_follows_the_clock",
    "totals_outlive_the_service",
    "tutorial_minimum_over_two_partitions",
    "a_late_event_fires_every_window_again_that_has_fired",
}
"""Played by a query of Spark, as production does, one of each file; and those whose steps the query cuts."""
REBATCHED = {
    "tutorial_allowed_lateness_refires",
    "an_event_may_be_too_late_for_one_window_and_in_time_for_the_next",
    "two_sessions_that_a_late_event_joins_become_one",
    "an_event_may_be_too_late_for_one_report_and_in_time_for_another",
    "windows_fill_by_partition_and_then_offset_whatever_came_first",
    "a_late_event_joins_two_sessions_of_a_user",
    "a_late_event_joins_two_sessions_and_takes_a_begin_from_the_next_window",
}
"""Played in larger batches, too."""
BY_EXECUTORS = {
    "tutorial_allowed_lateness_refires",
    "an_event_may_be_too_late_for_one_window_and_in_time_for_the_next",
    "hours_of_a_zone_half_an_hour_off_fire_again_and_close",
    "the_page_on_which_a_session_begins_is_its_landing_page",
    "windows_that_overlap_each_have_the_last_page_within_them_across_a_restart",
    "events_of_other_kinds_are_events_and_neither_views_nor_clicks",
    "windows_fill_by_partition_and_then_offset_whatever_came_first",
    "a_count_that_slides_outlives_the_service",
    "two_sessions_that_a_late_event_joins_become_one",
}
"""Played with all jobs of executors, too."""


def plays_by_query(transcript: Transcript) -> bool:
    """Returns whether a query of Spark plans the batches of a transcript; only it cuts a step into several."""
    return transcript.name in BY_QUERY or bool(transcript.value("max_records"))


def selected(names: set[str]) -> list[Transcript]:
    """Returns the transcripts with these names."""
    return [transcript for transcript in transcripts() if transcript.name in names]


def each(transcripts: list[Transcript]) -> pytest.MarkDecorator:
    """Runs a test with each `transcript`: half of a query's and a sixth of the others are drawn."""
    by_query = [one for one in transcripts if plays_by_query(one)]
    others = [one for one in transcripts if not plays_by_query(one)]
    params = [*drawn(by_query, -(-len(by_query) // 2)), *drawn(others, -(-len(others) // 6))]
    return pytest.mark.parametrize("transcript", params, ids=_name)


def _name(transcript: Transcript) -> str:
    return transcript.name
