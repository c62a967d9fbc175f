"""The page displays the state of the service."""

import platform
import re
import sys
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version
from threading import Event, Thread

import pytest

from tests.metrics.fakes import POLICY, START, World, batch, frontier, samples
from tests.support.waiting import PATIENCE_S
from tidemark.pipeline.event_time.firing import WindowsDue
from tidemark.pipeline.event_time.policy import AllIdle, Policy, Verdict
from tidemark.pipeline.event_time.strategies import Bounded, Punctuated, TimeLag
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState
from tidemark.pipeline.metrics.metric_catalogue import FailureKind
from tidemark.pipeline.metrics.observer import Host, Observer
from tidemark.pipeline.runtime.disk import Purpose, Size, Space, Traffic
from tidemark.pipeline.runtime.topic_offsets import TopicOffsets
from tidemark.pipeline.settings.model import MetricsSettings

COUNTED = {0: Counter({Verdict.COUNTED: 10})}
AFTER = frontier({0: 10}, watermark=START - 30_000, newest=START - 20_000)


def _windows(event: str, report: str = "page_views") -> str:
    return f'tidemark_windows_total{{event="{event}",report="{report}"}}'


def test_before_there_is_a_watermark_its_metrics_are_absent() -> None:
    observer = World(log_ends={0: 5}).observer()
    observer.opened(3, frontier({0: 0}), warehouse_id="1a")
    page = samples(observer)
    assert not [name for name in page if "watermark" in name]
    assert page['tidemark_epoch{warehouse="/warehouse",warehouse_id="1a"}'] == 3


def test_the_watermark_lag_grows_with_the_clock_while_no_batch_comes() -> None:
    world = World()
    observer = world.observer()
    observer.committed(batch(frontier({0: 0}), AFTER, COUNTED), START)
    assert samples(observer)["tidemark_watermark_lag_seconds"] == 30
    world.now += 5000
    page = samples(observer)
    assert page["tidemark_watermark_lag_seconds"] == 35
    assert page["tidemark_watermark_timestamp_seconds"] == (START - 30_000) / 1000
    own = (START - 20_000 - POLICY.strategy.delay_ms) / 1000
    assert page['tidemark_partition_watermark_timestamp_seconds{partition="0"}'] == own


def idle(*partitions: bool) -> Frontier:
    """A watermark at START, and partitions that are idle or not."""
    states = {number: PartitionState(10, START, START, is_idle) for number, is_idle in enumerate(partitions)}
    return Frontier(states, START)


@pytest.mark.parametrize(
    ("policy", "partitions", "expected"),
    [
        (POLICY, (True, True), None),
        (POLICY, (True, False), 60),
        (replace(POLICY, all_idle=AllIdle.ADVANCE), (True, True), 60),
        (replace(POLICY, strategy=TimeLag(5_000)), (True, True), 60),
    ],
)
def test_a_topic_that_is_quiet_has_no_watermark_lag_where_it_holds(
    policy: Policy, partitions: tuple[bool, ...], expected: int | None
) -> None:
    world = World()
    observer = world.observer(policy=policy)
    observer.opened(1, idle(*partitions))
    world.now += 60_000
    assert samples(observer).get("tidemark_watermark_lag_seconds") == expected


def test_the_lag_returns_with_the_next_event() -> None:
    world = World()
    observer = world.observer()
    observer.opened(1, idle(True))
    observer.advanced(idle(False))
    assert samples(observer)["tidemark_watermark_lag_seconds"] == 0


def test_the_last_commit_and_the_last_publication_are_when_they_were() -> None:
    world = World()
    observer = world.observer()
    observer.committed(batch(frontier({0: 0}), AFTER, COUNTED), START)
    world.now += 3000
    observer.published({})
    world.now += 3000
    page = samples(observer)
    assert page["tidemark_last_commit_timestamp_seconds"] == START / 1000
    assert page["tidemark_last_publication_timestamp_seconds"] == START / 1000 + 3


def test_open_windows_are_those_of_the_start_and_then_those_of_the_last_batch() -> None:
    observer = World().observer()
    observer.opened(1, frontier({0: 0}), {"page_views": 5})
    assert samples(observer)['tidemark_open_windows{report="page_views"}'] == 5
    observer.committed(batch(frontier({0: 0}), AFTER, COUNTED), START)
    assert samples(observer)['tidemark_open_windows{report="page_views"}'] == 3


def test_tables_and_the_disk_have_their_last_known_sizes() -> None:
    observer = World().observer()
    observer.measured({"panes": Size(rows=7, bytes=4096, files=2)}, Traffic())
    page = samples(observer)
    sizes = [page[f'tidemark_table_{what}{{table="panes"}}'] for what in ("rows", "bytes", "files")]
    assert sizes == [7, 4096, 2]
    assert (page["tidemark_warehouse_free_bytes"], page["tidemark_warehouse_size_bytes"]) == (400, 1000)


def test_bytes_that_were_written_add_up_from_one_upkeep_to_the_next() -> None:
    observer = World().observer()
    moved = Traffic(Counter({("panes", Purpose.APPEND): 10}), Counter({("panes", Purpose.COMPACTION): 7}))
    observer.measured({}, moved)
    observer.measured({}, moved)
    page = samples(observer)
    assert page['tidemark_table_written_bytes_total{purpose="append",table="panes"}'] == 20
    assert page['tidemark_table_replaced_bytes_total{purpose="compaction",table="panes"}'] == 14


@pytest.mark.skipif(sys.platform != "linux", reason="prometheus_client reads /proc, which only Linux has")
def test_both_processes_are_on_the_page_and_java_only_while_it_runs() -> None:
    page = samples(World().observer())
    assert page["process_resident_memory_bytes"] > 0
    assert (
        page["tidemark_java_process_start_time_seconds"] == page["process_start_time_seconds"]
    )  # the Python process, too
    alone = samples(Observer(MetricsSettings(), POLICY, lambda: START))
    assert not [name for name in alone if name.startswith("tidemark_java")]


def test_the_versions_are_labels() -> None:
    (build,) = [name for name in samples(World().observer()) if name.startswith("tidemark_build_info")]
    labels = dict(re.findall(r'(\w+)="([^"]+)"', build))
    assert labels == {name: version(name) for name in ("pyspark", "deltalake")} | {
        "python": platform.python_version(),
        "version": version("tidemark-lake"),
    }


@pytest.mark.parametrize(
    ("policy", "newest", "expected"),
    [
        (replace(POLICY, strategy=Bounded(4_000)), START - 20_000, START - 24_000),
        (replace(POLICY, strategy=Punctuated("true")), START - 20_000, START - 20_000),
        (replace(POLICY, strategy=Punctuated("true")), None, None),
        (replace(POLICY, strategy=TimeLag(5_000)), None, START - 5_000),
    ],
)
def test_the_watermark_of_a_partition_is_that_of_the_strategy(
    policy: Policy, newest: int | None, expected: int | None
) -> None:
    observer = World().observer(policy=policy)
    observer.opened(1, frontier({0: 10}, newest=newest))
    value = samples(observer).get('tidemark_partition_watermark_timestamp_seconds{partition="0"}')
    assert value == (None if expected is None else expected / 1000)


def test_the_lag_follows_the_broker_while_the_service_is_stuck() -> None:
    world = World(log_ends={0: 5})
    observer = world.observer()
    observer.opened(1, frontier({0: 2}))
    assert samples(observer)['tidemark_partition_lag_records{partition="0"}'] == 3
    world.log_ends, world.now = {0: 100}, START + 1000
    page = samples(observer)
    assert page['tidemark_partition_lag_records{partition="0"}'] == 98
    assert page['tidemark_partition_log_end_offset{partition="0"}'] == 100
    assert page['tidemark_partition_committed_offset{partition="0"}'] == 2


def test_an_open_transaction_is_lag_but_no_record_that_waits() -> None:
    world = World(log_ends={0: 5}, held_back={0: 40})
    observer = world.observer()
    observer.opened(1, frontier({0: 5}))
    world.now += 3_600_000
    page = samples(observer)
    assert page['tidemark_partition_lag_records{partition="0"}'] == 40
    assert page['tidemark_partition_held_back_records{partition="0"}'] == 40
    assert page['tidemark_partition_log_end_offset{partition="0"}'] == 45
    assert page["tidemark_oldest_unprocessed_age_seconds"] == 0
    assert observer.ready().ok


def test_the_first_retained_offset_is_on_the_page() -> None:
    observer = World(log_ends={0: 5}, earliest={0: 3}).observer()
    observer.opened(1, frontier({0: 4}))
    assert samples(observer)['tidemark_partition_earliest_offset{partition="0"}'] == 3


def test_the_broker_is_asked_at_most_once_a_second() -> None:
    world = World(log_ends={0: 5})
    observer = world.observer()
    for now in (START, START + 999, START + 1000, START + 1500):
        world.now = now
        samples(observer)
        observer.ready()
    assert world.asked == 2


def test_a_broker_that_fails_leaves_the_last_known_values_on_the_page() -> None:
    world = World(log_ends={0: 5})
    observer = world.observer()
    observer.opened(1, frontier({0: 2}))
    world.silent, world.now = True, START + 60_000
    page = samples(observer)
    assert world.asked == 2
    assert page['tidemark_partition_lag_records{partition="0"}'] == 3
    assert page["tidemark_log_ends_timestamp_seconds"] == START / 1000
    assert page["tidemark_oldest_unprocessed_age_seconds"] == 60


def test_a_broker_that_never_answers_holds_neither_the_page_nor_a_batch() -> None:
    release = Event()

    def ask() -> TopicOffsets:
        release.wait()
        return TopicOffsets({}, {}, {})

    observer = Observer(MetricsSettings(), POLICY, lambda: START, patience_s=0.01)
    observer.follow(ask)
    try:
        assert samples(observer)["tidemark_batches_total"] == 0
        observer.committed(batch(frontier({0: 0}), AFTER, COUNTED), START)
        assert samples(observer)["tidemark_batches_total"] == 1
    finally:
        release.set()


def test_a_file_system_that_never_answers_does_not_block_the_page() -> None:
    release = Event()

    def space() -> Space | None:
        release.wait()
        return None

    observer = Observer(MetricsSettings(), POLICY, lambda: START, patience_s=0.01, host=Host(space=space))
    pages = list[dict[str, float]]()
    scrape = Thread(target=lambda: pages.append(samples(observer)), daemon=True)
    scrape.start()
    scrape.join(PATIENCE_S)
    release.set()
    assert [page["tidemark_batches_total"] for page in pages] == [0]


def test_records_dead_letters_and_batches_are_counted_by_what_was_committed() -> None:
    observer = World().observer()
    brought = {
        0: Counter({Verdict.COUNTED: 4, Verdict.MALFORMED: 2}),
        1: Counter(
            {Verdict.COUNTED: 1, Verdict.TOO_LATE: 3, Verdict.FUTURE: 5, Verdict.DUPLICATE: 7, Verdict.ERASED: 4}
            | {Verdict.LEFT_OUT: 9}
        ),
    }
    step = batch(frontier({0: 0, 1: 0}), frontier({0: 6, 1: 29}), brought)
    step.tallies.partitions[0].partly_late = 1
    observer.committed(step, START)
    page = samples(observer)
    verdicts = {verdict: page[f'tidemark_records_total{{verdict="{verdict}"}}'] for verdict in Verdict}
    rejected = {"too_late": 3, "future": 5, "malformed": 2, "erased": 4}
    assert verdicts == {"counted": 5, "duplicate": 7, "left_out": 9} | rejected
    reasons = {name: value for name, value in page.items() if name.startswith("tidemark_dead_letters_total")}
    assert sorted(reasons.values()) == [1, 2, 3, 4, 5]
    assert page['tidemark_dead_letters_total{reason="too_late"}'] == 3
    assert page['tidemark_dead_letters_total{reason="partly_late"}'] == 1
    assert page["tidemark_batches_total"] == 1
    assert page["tidemark_unaccounted_records"] == 0


def test_freshness_counts_every_record_at_its_age_when_it_was_committed() -> None:
    observer = World().observer()
    observer.committed(batch(frontier({0: 0}), AFTER, COUNTED), committed_at=START + 600)
    page = samples(observer)
    assert page['tidemark_freshness_seconds_bucket{le="1.5"}'] == 0
    assert page['tidemark_freshness_seconds_bucket{le="2.0"}'] == 10
    assert page["tidemark_freshness_seconds_count"] == 10
    assert page["tidemark_freshness_seconds_sum"] == pytest.approx(16)


def test_records_that_claim_to_be_from_the_future_are_fresh_and_no_sum_goes_back() -> None:
    observer = World().observer()
    ahead = batch(frontier({0: 0}), AFTER, COUNTED)
    observer.committed(replace(ahead, tallies=replace(ahead.tallies, ages_ms=Counter({-5000: 10}))), START)
    page = samples(observer)
    assert page["tidemark_freshness_seconds_sum"] == 0
    assert page['tidemark_freshness_seconds_bucket{le="0.1"}'] == 10


def test_windows_fire_when_published_and_close_when_committed() -> None:
    observer = World().observer()
    due = WindowsDue(fired=frozenset({10, 20}), refired=frozenset({5}), closed=frozenset({1, 2, 3}))
    observer.committed(batch(frontier({0: 0}), AFTER, COUNTED, due), START)
    events = [_windows(event) for event in ("fired", "refired", "closed")]
    page = samples(observer)
    assert [page[event] for event in events] == [0, 0, 3]
    observer.published({"page_views": due})
    page = samples(observer)
    assert [page[event] for event in events] == [2, 1, 3]
    assert page[_windows("fired", "site_traffic")] == 0


def test_offsets_that_nothing_accounts_for_show_up_and_never_cancel_out() -> None:
    observer = World().observer()
    good = batch(frontier({0: 0}), AFTER, COUNTED)

    class Broken:
        """A batch with two ledger rows: the first lacks a record, the second has an extra record."""

        after, firings, folded_at, tallies = good.after, good.firings, good.folded_at, good.tallies
        open_windows = good.open_windows

        def ledger_rows(self, committed_at: int) -> list[object]:
            row = good.ledger_rows(committed_at)[0]
            return [replace(row, counted=row.counted - 1), replace(row, to_offset=row.to_offset + 2)]

    observer.committed(Broken(), START)  # type: ignore[arg-type] # rows of any kind
    assert samples(observer)["tidemark_unaccounted_records"] == 3


def test_idleness_shows_without_a_commit_and_uncommitted_offsets_do_not() -> None:
    observer = World().observer()
    observer.opened(1, frontier({0: 5}, watermark=START))
    ahead = frontier({0: 50, 1: 7}, watermark=START + 1000)
    idle = Frontier({n: replace(state, idle=True) for n, state in ahead.partitions.items()}, ahead.watermark)
    observer.advanced(idle)
    page = samples(observer)
    assert page['tidemark_partition_idle{partition="0"}'] == 1
    assert page['tidemark_partition_committed_offset{partition="0"}'] == 5
    assert page["tidemark_watermark_timestamp_seconds"] == START / 1000
    assert 'tidemark_partition_idle{partition="1"}' not in page


def test_steps_are_timed_by_name_and_unknown_names_are_refused() -> None:
    observer = World().observer()
    observer.stepped("fold", 0.2)
    observer.stepped("publish", 3)
    page = samples(observer)
    assert page['tidemark_batch_duration_seconds_bucket{le="0.25",step="fold"}'] == 1
    assert page['tidemark_batch_duration_seconds_sum{step="publish"}'] == 3
    assert page['tidemark_batch_duration_seconds_count{step="commit"}'] == 0
    with pytest.raises(ValueError, match="folding"):
        observer.stepped("folding", 1)


def test_ready_once_it_committed_what_was_on_the_topic_at_the_start_and_from_then_on() -> None:
    world = World(log_ends={0: 10})
    observer = world.observer()
    assert not observer.ready().ok
    observer.opened(1, frontier({0: 0}))
    world.log_ends, world.now = {0: 1000}, START + 5000
    assert not observer.ready().ok
    observer.committed(batch(frontier({0: 0}), AFTER, COUNTED), START)
    assert observer.ready().ok
    world.log_ends, world.now = {0: 10_000}, START + 10_000
    assert observer.ready().ok


def test_ready_when_the_service_reports_that_it_caught_up() -> None:
    observer = World(silent=True).observer()
    observer.opened(1, frontier({0: 0}))
    assert not observer.ready().ok
    observer.caught_up()
    assert observer.ready().ok


def test_readiness_is_not_revoked_by_a_later_goal() -> None:
    observer = World(log_ends={0: 1000}).observer()
    observer.opened(1, frontier({0: 0}))
    observer.caught_up()
    observer.committed(batch(frontier({0: 0}), AFTER, COUNTED), START)
    assert observer.ready().ok


def test_a_lagging_service_is_healthy_but_not_ready_until_a_commit() -> None:
    world = World(log_ends={0: 10})
    observer = world.observer(MetricsSettings(max_age=timedelta(minutes=1)))
    observer.opened(1, frontier({0: 0}))
    observer.caught_up()
    world.now += 59_999
    assert observer.ready().ok
    world.now += 1
    assert not observer.ready().ok
    assert observer.healthy().ok
    observer.committed(batch(frontier({0: 0}), AFTER, COUNTED), world.now)
    assert observer.ready().ok


def test_an_overdue_publication_makes_the_service_unready_until_it_is_made() -> None:
    world = World()
    observer = world.observer(MetricsSettings(max_age=timedelta(minutes=1)))
    observer.caught_up()
    observer.unpublished(3, START)
    page = samples(observer)
    assert page["tidemark_unpublished_batches"] == 3
    assert page["tidemark_unpublished_since_timestamp_seconds"] == START / 1000
    world.now += 60_000
    assert not observer.ready().ok
    observer.unpublished(0, None)
    assert observer.ready().ok
    assert "tidemark_unpublished_since_timestamp_seconds" not in samples(observer)


def test_brokers_that_are_silent_for_too_long_make_it_unready_until_they_answer() -> None:
    world = World(log_ends={0: 10})
    observer = world.observer(MetricsSettings(max_age=timedelta(minutes=1)))
    observer.opened(1, frontier({0: 10}))
    world.now += 3_600_000  # without a request, so that no request is unanswered
    world.silent = True
    assert observer.ready().ok
    world.now += 59_999
    assert observer.ready().ok
    world.now += 1_000
    assert not observer.ready().ok
    world.silent, world.now = False, world.now + 1_000
    assert observer.ready().ok


def test_a_start_leaves_nothing_unpublished() -> None:
    observer = World().observer()
    observer.unpublished(3, START)
    observer.opened(2, frontier({0: 0}))
    assert samples(observer)["tidemark_unpublished_batches"] == 0


@pytest.mark.parametrize("comes_round", ["batch", "tick", "failed attempt", "wait"])
def test_the_loop_turns_with(comes_round: str) -> None:
    world = World()
    observer = world.observer(MetricsSettings(stuck_after=timedelta(minutes=1)))
    observer.opened(1, frontier({0: 0}))
    world.now += 60_000
    assert not observer.healthy().ok
    match comes_round:
        case "batch":
            observer.committed(batch(frontier({0: 0}), AFTER, COUNTED), world.now)
        case "tick":
            observer.advanced(frontier({0: 0}))
        case "failed attempt":
            observer.failed(FailureKind.BROKER, "no broker answers", 5)
        case _:
            observer.waiting()
    assert observer.healthy().ok


def test_every_attempt_is_a_start_until_its_epoch_is_open() -> None:
    world = World()
    observer = world.observer(MetricsSettings(stuck_after=timedelta(minutes=1)))
    for epoch in (1, 2):
        observer.opening()
        world.now += 60_000
        assert observer.healthy().ok, "a start may publish much"
        observer.opened(epoch, frontier({0: 0}))
        world.now += 60_000
        assert not observer.healthy().ok


def test_an_outage_is_counted_and_reported_over_the_attempts() -> None:
    world = World()
    observer = world.observer()
    observer.opening()
    assert observer.healthy().sentence == "Healthy: the service starts; its last loop was 0.0 s ago."
    assert "tidemark_last_error_timestamp_seconds" not in samples(observer)
    observer.failed(FailureKind.BROKER, "no broker answers", 5)
    again = "the service failed and restarts in 5 s: no broker answers; its last loop was 0.0 s ago."
    assert observer.healthy().sentence == f"Healthy: {again}"
    observer.opening()
    assert observer.healthy().sentence.startswith("Healthy: the service restarts after: no broker answers; ")
    page = samples(observer)
    assert page["tidemark_attempts_total"] == 2
    assert page['tidemark_failures_total{kind="broker"}'] == 1
    assert page["tidemark_last_error_timestamp_seconds"] == START / 1000


def test_no_update_is_lost_when_several_threads_report_concurrently() -> None:
    observer = World().observer()
    step = batch(frontier({0: 0}), AFTER, COUNTED)

    def tell() -> None:
        for _ in range(200):
            observer.committed(step, START)
            observer.stepped("commit", 0.01)
            observer.published({"page_views": WindowsDue(fired=frozenset({1}))})

    threads = [Thread(target=tell) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    page = samples(observer)
    assert page["tidemark_batches_total"] == 800
    assert page["tidemark_freshness_seconds_count"] == 8000
    assert page[_windows("fired")] == 800
    assert page['tidemark_batch_duration_seconds_count{step="commit"}'] == 800


def test_health_reports_the_interval_the_last_commit_and_the_records_that_wait() -> None:
    world = World(log_ends={0: 10, 1: 1_400})
    observer = Observer(MetricsSettings(), POLICY, lambda: world.now, patience_s=30, interval_ms=30_000)
    observer.opened(1, frontier({0: 4, 1: 0}))
    assert "; the brokers have not reported how many records wait." in observer.healthy().sentence
    observer.follow(world.ask)
    observer.ready()
    world.now += 12_000
    assert observer.healthy().sentence == (
        "Healthy: the service is running; its last loop was 12.0 s ago. "
        "A batch starts every 30 s; no batch was committed yet; 1,406 records wait."
    )
    observer.committed(batch(frontier({0: 4}), AFTER, COUNTED), world.now)
    world.now += 500
    assert "the last one was committed 0.5 s ago" in observer.healthy().sentence
