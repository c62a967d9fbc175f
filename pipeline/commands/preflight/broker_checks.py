"""What the brokers say of the topic: how long it keeps records, whose clock their timestamps are, who may read it."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AclOperation, ConfigResource, OffsetSpec, ResourceType

from pipeline.commands.preflight.check_result import CheckResult, failure, passed, warning
from pipeline.errors import TransientError
from pipeline.event_time.policy import Policy, TimeOf
from pipeline.kafka.topic import Topic
from pipeline.settings.durations import write_milliseconds
from pipeline.settings.model import KafkaSettings

_T = TypeVar("_T")
_DAY_MS: Final = 86_400_000
_SKEW_MS: Final = 2_000
"""A difference of clocks that is no cause for alarm: that much a record may take to be seen."""
_WATCH_S: Final = 2.0
_PAUSE_S: Final = 0.2
_OFFSETS: Final = "__consumer_offsets"


@dataclass(frozen=True, slots=True)
class Cluster:
    """The brokers, through the client of the topic; every call asks them. Raises TransientError without an answer."""

    topic: Topic
    now: Callable[[], int]

    def brokers(self) -> Iterator[CheckResult]:
        """Who answered, and whether each partition has a leader."""
        patience = self.topic.patience_s
        cluster = _answer(self.topic.admin.describe_cluster(request_timeout=patience), patience, "its cluster")
        yield passed("brokers", f"{len(cluster.nodes)} of cluster {cluster.cluster_id}")
        partitions = self._described(self.topic.name).partitions
        without = [partition.id for partition in partitions if partition.leader is None]
        if without:
            yield failure("topic", f"partitions {without} of {self.topic.name} have no leader: see to the brokers")
        else:
            yield passed("topic", f"{self.topic.name} has {len(partitions)} partitions, each with a leader")

    def keeping(self, policy: Policy) -> Iterator[CheckResult]:
        """How long records stay, against how late an event may come."""
        config = self._config()
        if "compact" in config.get("cleanup.policy", ""):
            yield failure(
                "retention",
                f"topic {self.topic.name} is compacted: of a user's events only the last is kept. "
                "Set its cleanup.policy to delete",
            )
        if int(config.get("retention.bytes", -1)) >= 0:
            yield warning(
                "retention",
                f"topic {self.topic.name} keeps {config['retention.bytes']} bytes a partition: while the service is "
                "away records may go before they are read. Set its retention.bytes to -1, or watch the record lag",
            )
        # So much later than a newer one an event of some report may come.
        latest_ms = policy.strategy.idle_lag_ms + max(report.allowed_lateness_ms for report in policy.reports)
        yield _retention(self.topic.name, int(config.get("retention.ms", -1)), latest_ms)

    def timestamps(self, policy: Policy) -> Iterator[CheckResult]:
        """Whose clock the Kafka timestamps are."""
        if self._config().get("message.timestamp.type") == "LogAppendTime":
            yield passed("timestamps", "LogAppendTime: they are of the brokers' clocks")
        elif policy.time_of is TimeOf.INGESTION:
            yield warning(
                "timestamps",
                "CreateTime: with time.of = ingestion producers' clocks would count. "
                "Set the topic's message.timestamp.type to LogAppendTime",
            )
        elif policy.max_ahead_ms is None:
            yield warning(
                "timestamps",
                "CreateTime: a producer whose clock is ahead takes the watermark along. Set "
                "time.max_ahead_of_clock, or the topic's message.timestamp.type to LogAppendTime",
            )
        else:
            ahead = write_milliseconds(policy.max_ahead_ms)
            yield passed(
                "timestamps", f"CreateTime: producers' clocks; more than {ahead} ahead of this one is `future`"
            )

    def clocks(self) -> Iterator[CheckResult]:
        """The timestamp of the newest record against the clock here."""
        of_brokers = self._config().get("message.timestamp.type") == "LogAppendTime"
        whose = "the brokers' clock" if of_brokers else "a producer's clock"
        newest, fresh = self._newest_of_a_moment()
        ahead = newest - self.now()
        if newest < 0:
            yield passed("clocks", "the brokers tell of no record yet, so nothing tells of other clocks")
        elif ahead > _SKEW_MS:
            yield warning("clocks", f"{whose} is {ahead / 1000:.1f} s ahead of this one: see to the clocks (NTP)")
        elif fresh and ahead < -_SKEW_MS:
            yield warning("clocks", f"{whose} is {-ahead / 1000:.1f} s behind this one: see to the clocks (NTP)")
        elif fresh:
            yield passed("clocks", f"a record that came just now is {-ahead / 1000:.1f} s old by the clock here")
        else:
            yield passed("clocks", "no record is ahead of the clock here; none came meanwhile to tell more")

    def group(self, kafka: KafkaSettings) -> Iterator[CheckResult]:
        """Whether the consumer group can mirror the offsets; a start goes on without."""
        name = kafka.group_id
        if not self._groups_are_kept():
            yield passed("group", f"{name} will be the first that the brokers have")
            return
        asked = self.topic.admin.describe_consumer_groups([name], include_authorized_operations=True)
        try:
            found = asked[name].result(self.topic.patience_s)
        except (KafkaException, TimeoutError) as error:
            yield warning("group", f"offsets cannot be mirrored to group {name}: {_reason(error)}")
            return
        allowed = found.authorized_operations
        if allowed and AclOperation.READ not in allowed:
            yield warning("group", f"offsets cannot be mirrored to group {name}: allow the client Read on it")
        elif found.members:
            yield warning(
                "group",
                f"{name} has {len(found.members)} members, so offsets cannot be mirrored to it: name another "
                "kafka.group_id, that nobody reads by",
            )
        else:
            is_new = found.state in (ConsumerGroupState.DEAD, ConsumerGroupState.UNKNOWN)
            yield passed("group", f"{name} {'is new' if is_new else 'has no members'}")

    def _config(self) -> Mapping[str, str]:
        resource = ConfigResource(ResourceType.TOPIC, self.topic.name)
        asked = self.topic.admin.describe_configs([resource], request_timeout=self.topic.patience_s)
        entries = _answer(asked[resource], self.topic.patience_s, f"the configuration of topic {self.topic.name}")
        return {name: entry.value for name, entry in entries.items() if entry.value is not None}

    def _described(self, topic: str) -> Any:
        patience = self.topic.patience_s
        asked = self.topic.admin.describe_topics(TopicCollection([topic]), request_timeout=patience)
        return _answer(asked[topic], patience, f"topic {topic}")

    def _groups_are_kept(self) -> bool:
        """Whether the brokers have their topic of groups: to ask for a group before would make them make it."""
        try:
            self._described(_OFFSETS)
        except TransientError as error:
            cause = error.__cause__
            return not (isinstance(cause, KafkaException) and cause.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART)
        return True

    def _newest_of_a_moment(self) -> tuple[int, bool]:
        """The newest timestamp in milliseconds, -1 without a record, and whether it came while this looked on."""
        before, ends = self._newest(), time.monotonic() + _WATCH_S
        newest = before
        is_empty = before < 0 and self.topic.high_watermarks() == self.topic.earliest()
        while newest == before and not is_empty and time.monotonic() < ends:
            time.sleep(_PAUSE_S)
            # The brokers tell of none while the newest is on its way.
            newest = max(newest, self._newest())
            before = newest if before < 0 else before
        return newest, newest != before

    def _newest(self) -> int:
        partitions = [TopicPartition(self.topic.name, number) for number in self.topic.earliest()]
        asked = dict.fromkeys(partitions, OffsetSpec.max_timestamp())
        answers = self.topic.admin.list_offsets(asked, request_timeout=self.topic.patience_s)
        found: list[int] = [
            _answer(one, self.topic.patience_s, "its newest records").timestamp for one in answers.values()
        ]
        return max(found)


def _retention(topic: str, kept_ms: int, latest_ms: int) -> CheckResult:
    kept, latest = write_milliseconds(kept_ms) if kept_ms >= 0 else "", write_milliseconds(latest_ms)
    if kept_ms < 0:
        return passed("retention", f"topic {topic} keeps records for ever")
    if kept_ms < latest_ms:
        return failure(
            "retention",
            f"topic {topic} keeps records for {kept}, but events that are {latest} late are still in time (bound and "
            "allowed lateness): they may go before they are read. Raise its retention.ms",
        )
    if kept_ms < _DAY_MS:
        return warning(
            "retention", f"topic {topic} keeps records for {kept}: a longer outage loses some. Raise its retention.ms"
        )
    return passed("retention", f"topic {topic} keeps records for {kept}; in time are events up to {latest} late")


def _answer(asked: "Future[_T]", seconds: float, what: str) -> _T:
    try:
        return asked.result(seconds)
    except (KafkaException, TimeoutError) as error:
        raise TransientError(f"the broker did not tell {what}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return str(error.args[0].str()) if isinstance(error, KafkaException) else "the request timed out"
