"""Which transcripts Flink can express, and where it differs: each by name, with the reason."""

from tests.flink.flink_job import OLDER_API, READER_PER_PARTITION, RUNS
from tests.transcripts.transcript import Transcript
from tests.transcripts.transcript_files import transcripts

_FUTURE = "Flink has no guard against events from the future: they move its watermark like any other"
_ADVANCE = "Flink has no watermark that follows the clock once all partitions are idle"
_RESTART = "a Flink job that starts again has no watermark until its source gives it one; the program starts none again"
_UNREAD = "an idle source of Flink knows of no records that wait to be read"
_TOTALS = "Flink has no windows that last for ever and are told of whenever some time has passed"
_CALENDAR = "Flink has no windows by the clocks of a zone, in which days differ in length"
_DUPLICATES = "Flink's DataStream has no operator that drops duplicates: each job has its own, of its own state"
_CHANGED = "settings change at a restart, which the program does not play"

COUNTED = {"page_views", "clicks", "unique_users"}
"""The program counts these. A session is in Flink a window of its own: what another knows of it would be own state."""
NOT_EXPRESSIBLE = {
    "a_future_event_is_a_dead_letter_and_moves_nothing": _FUTURE,
    "where_all_are_idle_an_advancing_watermark_follows_the_clock": _ADVANCE,
    "an_advancing_watermark_waits_for_the_first_event": _ADVANCE,
    "the_last_session_of_a_quiet_topic_ends_where_the_watermark_advances": _ADVANCE,
    "a_future_event_is_so_for_every_report": _FUTURE,
    "a_session_outlives_the_service": _RESTART,
    "a_service_that_was_away_reads_what_it_missed_and_judges_nothing_late": _RESTART,
    "windows_outlive_the_service": _RESTART,
    "silence_is_measured_anew_from_a_restart": _RESTART,
    "unread_records_keep_a_partition_from_being_idle": _UNREAD,
    "a_partition_far_behind_catches_up_and_is_not_late_as_a_block": _UNREAD,
    "a_day_of_berlin_has_23_hours_when_the_clocks_go_forward": _CALENDAR,
    "a_day_of_berlin_has_25_hours_when_the_clocks_go_back": _CALENDAR,
    "an_hour_that_the_clocks_show_twice_is_two_hours": _CALENDAR,
    "a_part_of_the_day_that_begins_where_clocks_jump_begins_at_the_jump": _CALENDAR,
    "a_quarter_of_a_day_may_have_seven_hours": _CALENDAR,
    "weeks_begin_on_a_monday": _CALENDAR,
    "different_users_of_a_day_of_23_hours": _CALENDAR,
    "a_future_event_fills_no_count": _FUTURE,
    "a_count_outlives_the_service": _RESTART,
    "a_count_that_slides_outlives_the_service": _RESTART,
    "a_count_that_slides_begins_again_when_its_report_comes_back": _CHANGED,
    "a_late_event_joins_two_sessions_of_a_user": _TOTALS,
    "events_a_gap_apart_are_one_session_of_the_totals_and_a_millisecond_more_makes_two": _TOTALS,
    "totals_are_written_when_the_watermark_passes_the_end_of_a_stretch": _TOTALS,
    "totals_are_written_at_a_tick_too": _TOTALS,
    "what_is_too_late_for_every_report_is_in_no_total": _TOTALS,
    "totals_outlive_the_service": _TOTALS,
    "a_start_writes_the_totals_anew": _TOTALS,
    "windows_that_grow_are_shifted_by_an_offset_and_outlive_the_service": _CHANGED,
    "a_longer_allowed_lateness_opens_no_closed_window_again": _CHANGED,
    "a_shorter_allowed_lateness_closes_at_once_and_takes_nothing_back": _CHANGED,
    "a_session_that_a_shorter_lateness_closed_is_joined_by_nothing": _CHANGED,
    "a_report_that_was_away_keeps_what_it_had_shown_and_nothing_else": _CHANGED,
    "sessions_and_counts_that_were_away_keep_what_they_had_shown": _CHANGED,
    "a_new_report_is_closed_where_all_others_were": _CHANGED,
    "where_windows_and_lateness_are_the_same_an_event_may_be_too_late_for_what_was_away": _CHANGED,
    "a_restart_while_a_report_is_away_closes_no_more_of_it": _CHANGED,
    "another_strategy_forgets_event_times_and_keeps_the_watermark": _CHANGED,
    "a_partition_that_has_told_no_time_since_holds_the_watermark": _CHANGED,
    "a_longer_bound_holds_the_watermark_and_a_shorter_one_moves_it": _CHANGED,
    "a_time_too_far_ahead_of_the_clock_is_from_the_future_whatever_its_kafka_timestamp": _CHANGED,
    "an_event_moves_the_watermark_at_most_to_its_kafka_timestamp_and_to_the_clock": _FUTURE,
    "where_a_kafka_timestamp_cannot_be_true_the_clock_is_the_arrival": _FUTURE,
    "other_rules_of_silence_count_from_the_restart": _CHANGED,
    "totals_of_all_time_outlive_their_settings": _CHANGED,
    "an_event_that_is_sent_again_counts_once_in_its_batch_and_in_later_ones": _DUPLICATES,
    "events_without_an_id_are_never_duplicates": _DUPLICATES,
    "off_every_record_is_an_event": _DUPLICATES,
    "the_first_by_partition_and_offset_counts_whatever_came_first": _DUPLICATES,
    "a_duplicate_moves_the_watermark_like_any_event": _DUPLICATES,
    "an_id_is_remembered_while_a_window_of_its_event_takes_late_ones_and_no_longer": _DUPLICATES,
    "what_was_rejected_is_not_remembered": _DUPLICATES,
    "an_event_that_is_partly_late_is_a_duplicate_of_itself": _DUPLICATES,
    "the_longest_memory_of_all_reports_counts": _DUPLICATES,
    "ids_outlive_the_service": _DUPLICATES,
    "what_it_remembers_begins_with_the_setting_and_ends_with_it": _DUPLICATES,
    "what_was_forgotten_stays_so_whatever_lateness_is_allowed_later": _DUPLICATES,
}
NOT_REPEATABLE = {
    (READER_PER_PARTITION, "windows_fill_by_partition_and_then_offset_whatever_came_first"): (
        "with a reader each, chance decides which partition's events come first, and so which of them fill a count"
    ),
}
"""By run and name: what Flink does now one way and now the other."""

_ALL_IDLE = "once all partitions are idle, Flink goes on to the highest watermark of them (FLINK-38454); Tidemark holds"
_REJOINING = (
    "with a reader each, Flink leaves a partition that is active again out of the minimum until it has caught up; "
    "with one reader for both, as in Tidemark, it counts from its first event"
)
_EARLY = "the older API's watermark is a millisecond ahead, so that a window fires at end - 1"
_NOT_TAKEN_BACK = "Flink does not take back what it said of a session that goes on: it says more of it once that ends"
_GROWS = "a_session_that_grows_beyond_the_watermark_is_taken_back_until_it_ends_again"
_GROWN = "an_event_may_be_too_late_for_a_window_and_in_time_for_what_it_has_grown_to"
_MISSED = "of windows that overlap Flink tells of an event that missed all of them, and not of one that missed some"
_OWN_WINDOW = "in Flink an open session takes every event it meets; in Tidemark an event's own time and gap decide"

DIFFERENT: dict[tuple[str, str], tuple[list[int], str]] = {
    **{(run, "where_all_are_idle_the_watermark_holds"): ([2, 3], _ALL_IDLE) for run in RUNS},
    (READER_PER_PARTITION, "a_partition_that_returns_does_not_move_the_watermark_back"): ([4, 5], _REJOINING),
    (READER_PER_PARTITION, "a_too_late_event_still_counts_for_its_partitions_highest_time"): ([3], _REJOINING),
    (OLDER_API, "tumbling_windows_shifted_by_an_offset"): ([1, 2], _EARLY),
    (OLDER_API, "a_session_lasts_as_long_as_its_events_follow_one_another"): ([2, 3], _EARLY),
    (OLDER_API, "an_event_is_too_late_for_sessions_by_its_own_time_gap_and_lateness"): ([2], _EARLY),
    **{(run, _GROWS): ([2, 3], _NOT_TAKEN_BACK) for run in RUNS},
    **{(run, "an_event_may_be_too_late_for_one_window_and_in_time_for_the_next"): ([2], _MISSED) for run in RUNS},
    **{(run, "a_late_event_fires_every_window_again_that_has_fired"): ([2], _MISSED) for run in RUNS},
    **{(run, _GROWN): ([2], _MISSED) for run in RUNS},
    **{(run, "a_late_event_fires_again_all_that_a_window_has_grown_to"): ([2, 4], _MISSED) for run in RUNS},
    **{(run, "an_event_may_be_too_late_although_its_session_is_still_open"): ([2, 3], _OWN_WINDOW) for run in RUNS},
    **{(run, "an_open_session_saves_no_event_whatever_the_order_in_the_batch"): ([2], _OWN_WINDOW) for run in RUNS},
}
"""By run and name: the steps, from 1, in which Flink says something else, and why."""


def played_by(run: str) -> list[Transcript]:
    """The transcripts of a run; the older API had only the bounded watermark of event time."""
    left_out = NOT_EXPRESSIBLE.keys() | {name for its_run, name in NOT_REPEATABLE if its_run == run}
    expressible = [it for it in transcripts() if it.name not in left_out and _measures(it) <= COUNTED]
    if run == OLDER_API:
        return [it for it in expressible if (it.value("of"), it.value("strategy")) == ("event", "bounded")]
    return expressible


def _measures(transcript: Transcript) -> set[str]:
    return {measure for report in transcript.reports for measure in report.measures}
