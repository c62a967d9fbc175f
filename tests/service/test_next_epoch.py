"""The start of the next epoch, decided from what was gathered: no broker, no tables."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.ledger_rows import ledger_row
from tests.support.policies import policy_of
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.batch import EPOCH, LedgerRow
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Punctuated
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.kafka.topic import Identity
from tidemark.pipeline.pseudonyms import Pseudonyms
from tidemark.pipeline.service.next_epoch import StartFacts, TopicState, decide, remarks
from tidemark.pipeline.settings.model import KafkaSettings, Settings
from tidemark.pipeline.tables.changed_meaning import Meaning
from tidemark.pipeline.tables.opening import Opening, Reset

NOW = 1_790_820_000_000
MINUTES = Report("minutes", Grid(60_000, 60_000), 0)
DAYS = Report("days", Grid(86_400_000, 86_400_000), 0)
POLICY = policy_of(MINUTES)
KAFKA = KafkaSettings(topic="t", bootstrap_servers="b:9092")
TOPIC = TopicState(Identity("c", "id"), {0: 0, 1: 0}, {0: 100, 1: 100}, {})
MEANING = Meaning.of(Settings())
NEW = StartFacts("w", POLICY, KAFKA, None, MEANING, [], [], {}, replace(TOPIC, start={0: 7, 1: 0}), NOW)
OPENING = Opening(POLICY, {}, "c", "id")


def row(partition: int, to_offset: int, batch: int = 3 * EPOCH + 5) -> LedgerRow:
    plain = ledger_row(batch, partition, to_offset, committed_at=NOW)
    return replace(plain, topic="t", max_event_time=NOW - partition, watermark=NOW - 9)


OLD = replace(NEW, rows=[row(0, 40), row(1, 50)], openings=[OPENING], topic=TOPIC)


def test_a_new_warehouse_starts_where_the_settings_say() -> None:
    found = decide(NEW, "me")
    assert (found.batch.batch_id, found.batch.after.positions) == (EPOCH, {0: 7, 1: 0})
    assert (found.opening.process, found.opening.cluster_id, found.opening.topic_id, found.opening.last_batch) == (
        "me",
        "c",
        "id",
        0,
    )
    assert not found.earlier
    assert not remarks(found, KAFKA)


def test_a_warehouse_goes_on_where_its_ledger_ends_and_a_new_partition_at_its_start() -> None:
    grown = replace(TOPIC, earliest={0: 0, 1: 0, 2: 0}, log_ends={0: 100, 1: 100, 2: 8})
    found = decide(replace(OLD, topic=grown))
    assert found.batch.batch_id == 4 * EPOCH
    assert found.batch.after.positions == {0: 40, 1: 50, 2: 0}
    assert found.batch.after.watermark == NOW - 9
    assert [found.batch.after.partitions[at].max_event_time for at in range(3)] == [NOW, NOW - 1, None]
    assert found.opening.last_batch == 3 * EPOCH + 5


def test_event_times_do_not_count_where_another_strategy_measures_them() -> None:
    other = replace(POLICY, strategy=Punctuated("event_type = 'click'"))
    assert decide(replace(OLD, policy=other)).batch.after.partitions[0].max_event_time is None


def test_the_last_batch_before_an_epoch_without_one_is_that_of_its_opening() -> None:
    rows = [row(0, 40, 4 * EPOCH), row(1, 50, 4 * EPOCH)]
    found = decide(replace(OLD, rows=rows, openings=[OPENING, replace(OPENING, last_batch=3 * EPOCH + 5)]))
    assert (found.batch.batch_id, found.opening.last_batch) == (5 * EPOCH, 3 * EPOCH + 5)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kafka": KafkaSettings(topic="u")}, "holds topic t, not u"),
        ({"topic": replace(TOPIC, identity=Identity("d", "id"))}, "holds topic t of the cluster c, but b:9092 is the"),
        ({"topic": replace(TOPIC, identity=Identity("c", "other"))}, "topic t was deleted and recreated"),
        ({"pseudonyms": Pseudonyms(b"k" * 32)}, "has users in clear"),
        ({"topic": replace(TOPIC, earliest={0: 41, 1: 0})}, "offset 40 of partition 0, but the topic holds [41, 100)"),
        ({"topic": replace(TOPIC, log_ends={0: 39, 1: 100})}, "offset 40 of partition 0, but the topic holds [0, 39)"),
        ({"topic": replace(TOPIC, earliest={1: 0}, log_ends={1: 100})}, "but the topic holds [0, 0)"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SetUpError) as refused:
        decide(replace(OLD, **change))
    assert sentence in str(refused.value)


def means(**mapping: Any) -> Meaning:
    return Meaning.of(Settings.model_validate({"schemas": {"mapping": mapping}}))


@pytest.mark.parametrize(
    ("mapping", "sentence"),
    [
        ({"page": "url"}, "schemas.mapping.page was page_url and is now url"),
        (
            {"user": "a.id", "time": "at"},
            "user was user_id and is now a.id, schemas.mapping.time was event_time",
        ),
        ({"kind": ""}, "schemas.mapping.kind was event_type and is now empty"),
        (
            {"kinds": {"visit": "click", "click": "visit"}},
            "kinds was click=click visit=visit and is now click=visit",
        ),
        ({"kinds": {"visit": "visit", "click": "tap"}}, "kinds was click=click visit=visit and is now click=tap"),
    ],
)
def test_a_column_does_not_get_two_meanings_unless_the_settings_allow_it(
    mapping: dict[str, Any], sentence: str
) -> None:
    known = decide(NEW).opening
    now = replace(OLD, openings=[known], meaning=means(**mapping))
    with pytest.raises(SetUpError) as refused:
        decide(now)
    assert sentence in str(refused.value)
    assert "set schemas.on_change to record" in str(refused.value)
    allowed = decide(replace(now, meaning=replace(now.meaning, may_change=True)))
    assert sentence in ", ".join(remark.partition(":")[0] for remark in remarks(allowed, KAFKA))
    again = decide(replace(now, openings=[known, allowed.opening]))
    assert not remarks(again, KAFKA)
    without_event = [replace(row, watermark=None, max_event_time=None) for row in now.rows]
    assert remarks(decide(replace(now, rows=without_event)), KAFKA), "nothing has the former meaning yet"
    assert not remarks(decide(replace(now, openings=[OPENING])), KAFKA), "older versions did not record the meaning"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"deduplicate": "event_id"}, "deduplicate was off and is now event_id"),
        ({"schemas": {"format": "json"}}, "schemas.format was avro and is now json"),
        ({"schemas": {"mapping": {"time_unit": "s"}}}, "schemas.mapping.time_unit was not set and is now s"),
        (
            {"schemas": {"mapping": {"kinds": {"visit": "visit", "tap": "click"}}}},
            "kinds was click=click visit=visit",
        ),
        (
            {"schemas": {"mapping": {"kinds": {"visit": "visit", "click": "click", "order": "purchase"}}}},
            "kinds was click=click visit=visit and is now click=click order=purchase visit=visit",
        ),
    ],
)
def test_other_changes_of_what_events_mean_are_reported(changed: dict[str, Any], sentence: str) -> None:
    now = decide(replace(OLD, openings=[decide(NEW).opening], meaning=Meaning.of(Settings.model_validate(changed))))
    (remark,) = remarks(now, KAFKA)
    assert sentence in remark


def test_a_warehouse_that_had_other_kinds_may_have_events_of_them_for_ever() -> None:
    with_kinds = replace(NEW, policy=replace(POLICY, has_other_kinds=True))
    first = decide(with_kinds).opening
    assert not decide(NEW).opening.policy.has_other_kinds
    second = decide(replace(OLD, openings=[first])).opening
    assert (second.policy.has_other_kinds, second.format) == (True, 2)
    assert decide(replace(OLD, policy=with_kinds.policy, openings=[decide(NEW).opening])).opening.format == 2


def test_a_loss_that_the_settings_allow_is_recorded() -> None:
    kafka = KAFKA.model_copy(update={"on_data_loss": "record"})
    found = decide(replace(OLD, kafka=kafka, topic=replace(TOPIC, earliest={0: 45, 1: 0})))
    assert found.batch.lost == {0: 5}
    assert (found.batch.before.positions[0], found.batch.after.positions[0]) == (40, 45)
    assert remarks(found, kafka) == ["deleted before they were read: 5 offsets of partition 0"]


def test_a_start_position_is_for_a_new_warehouse() -> None:
    kafka = KAFKA.model_copy(update={"start": "latest"})
    (remark,) = remarks(decide(replace(OLD, kafka=kafka)), kafka)
    assert "is for a new warehouse" in remark


def test_consumers_are_added_removed_and_dropped_by_the_openings_since_the_last_batch() -> None:
    both = replace(OPENING, policy=policy_of(MINUTES, DAYS))
    readded = decide(replace(OLD, policy=policy_of(MINUTES, DAYS), openings=[both, OPENING]))
    assert (readded.added, readded.missing_now, readded.lost_since_last_batch) == ({"days"}, set(), {"days"})
    removed = decide(replace(OLD, openings=[both]))
    assert (removed.added, removed.missing_now, removed.lost_since_last_batch) == (set(), {"days"}, {"days"})
    new = decide(NEW)
    assert (new.added, new.missing_now, new.lost_since_last_batch, new.closed_reports) == (set(), set(), set(), {})


def test_a_dropped_report_is_final_and_publishes_its_last_windows_while_it_has_panes() -> None:
    removed = decide(replace(OLD, openings=[replace(OPENING, policy=policy_of(MINUTES, DAYS))]))
    assert removed.closed_reports == {"days": removed.opening.closed["days"]}
    assert removed.last_policy({}) is None
    last = removed.last_policy({"days", "minutes"})
    assert last is not None
    assert [report.name for report in last.reports] == ["days"]


def test_the_last_windows_of_a_dropped_report_are_closed_no_later_than_a_reset_put_the_watermark() -> None:
    days = replace(DAYS, closed_before_ms=NOW)
    opening = replace(OPENING, policy=policy_of(MINUTES, days), closed={"minutes": NOW, "days": NOW})
    put_back = replace(opening, closed={"minutes": NOW - 9, "days": NOW - 9}, reset=Reset(NOW - 9, "a wrong clock"))
    for openings, expected in (([opening], NOW), ([opening, put_back], NOW - 9)):
        last = decide(replace(OLD, openings=openings)).last_policy({"days"})
        assert last is not None
        assert [report.closed_before_ms for report in last.reports] == [expected]


def test_a_reset_since_the_last_batch_is_known() -> None:
    reset = replace(OPENING, reset=Reset(NOW - 9, "a wrong clock"))
    assert decide(replace(OLD, openings=[reset, OPENING])).is_reset
    assert not decide(OLD).is_reset


def test_ids_count_only_if_every_epoch_since_the_last_batch_deduplicates() -> None:
    ids = replace(POLICY, deduplicate=True)
    remembering = replace(OLD, policy=ids, openings=[replace(OPENING, policy=ids)])
    assert decide(remembering).forgets_ids_before < rules.NEVER
    gap = replace(remembering, openings=[OPENING, replace(OPENING, policy=ids)])
    assert decide(gap).forgets_ids_before == rules.NEVER
