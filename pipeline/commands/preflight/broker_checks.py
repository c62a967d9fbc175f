"""Checks of the brokers and the topic: leaders, retention, timestamps, clocks, consumer group."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AclOperation, ConfigResource, OffsetSpec, ResourceType

from tidemark.command_line.counts import counted
from tidemark.pipeline.commands.preflight.check_result import CheckResult, failure, passed, warning
from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.policy import Policy, TimeOf
from tidemark.pipeline.kafka.topic import Topic
from tidemark.pipeline.settings.durations import write_milliseconds
from tidemark.pipeline.settings.model import KafkaSettings

_T = TypeVar("_T")
_DAY_MS: Final = 86_400_000
_SKEW_MS: Final = 2_000
"""A smaller difference of clocks is ignored, because a record may take this long to be visible."""
_WATCH_S: Final = 2.0
_PAUSE_S: Final = 0.2
_OFFSETS: Final = "__consumer_offsets"


@dataclass(frozen=True, slots=True)
class Cluster:
    """The brokers. Every check asks them, and raises TransientError if they do not answer."""

    topic: Topic
    now: Callable[[], int]

    def check_brokers(self) -> Iterator[CheckResult]:
        """Checks that the brokers answer, and that each partition has a leader."""
        patience = self.topic.patience_s
        cluster = _answer(self.topic.admin.describe_cluster(request_timeout=patience), patience, "its cluster")
        yield passed("brokers", f"{len(cluster.nodes)} of cluster {cluster.cluster_id}")
        partitions = self._described(self.topic.name).partitions
        without = [partition.id for partition in partitions if partition.leader is None]
        if without:
            yield failure("topic", f"partitions {without} of {self.topic.name} have no leader: check the brokers")
        else:
            yield passed("topic", f"{self.topic.name} has {counted(len(partitions), 'partition')}, each with a leader")

    def check_retention(self, policy: Policy) -> Iterator[CheckResult]:
        """Compares the retention of the topic with the latest event that still counts."""
        config = self._config()
        if "compact" in config.get("cleanup.policy", ""):
            yield failure(
                "retention",
                f"topic {self.topic.name} is compacted: it retains only the last event of each key. "
                "Set its cleanup.policy to delete",
            )
        if (size := int(config.get("retention.bytes", -1))) >= 0:
            yield warning(
                "retention",
                f"topic {self.topic.name} retains {counted(size, 'byte')} a partition: while the service "
                "is down, records may be deleted unread. Set its retention.bytes to -1, or monitor the lag",
            )
        # The oldest event that a report still counts trails the newest event by this much.
        latest_ms = policy.strategy.delay_ms + max(report.allowed_lateness_ms for report in policy.reports)
        yield _retention(self.topic.name, int(config.get("retention.ms", -1)), latest_ms)

    def check_timestamps(self, policy: Policy) -> Iterator[CheckResult]:
        """Checks whose clock sets the Kafka timestamps."""
        if self._config().get("message.timestamp.type") == "LogAppendTime":
            yield passed("timestamps", "LogAppendTime: set by the brokers' clocks")
        elif policy.time_of is TimeOf.INGESTION:
            yield warning(
                "timestamps",
                "CreateTime: with time.of = ingestion the producers' clocks decide. "
                "Set the topic's message.timestamp.type to LogAppendTime",
            )
        elif policy.max_ahead_ms is None:
            yield warning(
                "timestamps",
                "CreateTime: a producer whose clock is ahead advances the watermark. Set "
                "time.max_ahead_of_clock, or the topic's message.timestamp.type to LogAppendTime",
            )
        else:
            ahead = write_milliseconds(policy.max_ahead_ms)
            yield passed(
                "timestamps", f"CreateTime: set by producers' clocks; more than {ahead} ahead of this host is `future`"
            )

    def check_clocks(self, policy: Policy) -> Iterator[CheckResult]:
        """Compares the timestamp of the newest record with the clock of this host."""
        of_brokers = self._config().get("message.timestamp.type") == "LogAppendTime"
        whose = "the brokers' clock" if of_brokers else "a producer's clock"
        newest, is_new = self._watch_newest()
        now = self.now()
        ahead = newest - now
        if newest < 0:
            yield passed("clocks", "the topic has no record yet, so clocks cannot be compared")
        elif not rules.is_arrival(newest, now, policy.max_age_ms):
            yield warning(
                "clocks",
                f"the newest Kafka timestamp is {newest}, which is no time in milliseconds near this host's clock: "
                "a producer sets another unit or no time, and the service uses its own clock instead",
            )
        elif ahead > _SKEW_MS:
            yield warning("clocks", f"{whose} is {ahead / 1000:.1f} s ahead of this host: check NTP")
        elif is_new and ahead < -_SKEW_MS:
            yield warning("clocks", f"{whose} is {-ahead / 1000:.1f} s behind this host: check NTP")
        elif is_new:
            yield passed("clocks", f"a new record is {-ahead / 1000:.1f} s old by the clock of this host")
        else:
            yield passed("clocks", "no record is ahead of the clock of this host; no new record arrived")

    def check_group(self, kafka: KafkaSettings) -> Iterator[CheckResult]:
        """Checks that offsets can be mirrored to the consumer group; `run` starts without it."""
        name = kafka.group_id
        if not self._has_groups():
            yield passed("group", f"{name} will be the first consumer group of these brokers")
            return
        asked = self.topic.admin.describe_consumer_groups([name], include_authorized_operations=True)
        try:
            group = asked[name].result(self.topic.patience_s)
        except (KafkaException, TimeoutError) as error:
            yield warning("group", f"offsets cannot be mirrored to group {name}: {_reason(error)}")
            return
        allowed = group.authorized_operations
        if allowed and AclOperation.READ not in allowed:
            yield warning("group", f"offsets cannot be mirrored to group {name}: allow the client Read on it")
        elif group.members:
            yield warning(
                "group",
                f"{name} has {counted(len(group.members), 'member')}, so offsets cannot be mirrored to it: set "
                "kafka.group_id to a group without members",
            )
        else:
            is_new = group.state in (ConsumerGroupState.DEAD, ConsumerGroupState.UNKNOWN)
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

    def _has_groups(self) -> bool:
        """Tests whether the topic of consumer groups exists; asking for a group would create it."""
        try:
            self._described(_OFFSETS)
        except TransientError as error:
            cause = error.__cause__
            return not (isinstance(cause, KafkaException) and cause.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART)
        return True

    def _watch_newest(self) -> tuple[int, bool]:
        """Returns the newest record timestamp in ms (-1: empty topic), and whether it advanced while we watched."""
        before, ends = self._newest(), time.monotonic() + _WATCH_S
        newest = before
        is_empty = before < 0 and self.topic.high_watermarks() == self.topic.earliest()
        while newest == before and not is_empty and time.monotonic() < ends:
            time.sleep(_PAUSE_S)
            # The brokers report -1 while the newest record is being written.
            newest = max(newest, self._newest())
            before = newest if before < 0 else before
        return newest, newest != before

    def _newest(self) -> int:
        partitions = [TopicPartition(self.topic.name, partition) for partition in self.topic.earliest()]
        asked = dict.fromkeys(partitions, OffsetSpec.max_timestamp())
        answers = self.topic.admin.list_offsets(asked, request_timeout=self.topic.patience_s)
        patience = self.topic.patience_s
        return max(int(_answer(answer, patience, "its newest records").timestamp) for answer in answers.values())


def _retention(topic: str, kept_ms: int, latest_ms: int) -> CheckResult:
    kept, latest = write_milliseconds(kept_ms) if kept_ms >= 0 else "", write_milliseconds(latest_ms)
    if kept_ms < 0:
        return passed("retention", f"topic {topic} retains records forever")
    if kept_ms < latest_ms:
        return failure(
            "retention",
            f"topic {topic} retains records for {kept}, but events up to {latest} late still count (bound and "
            "allowed lateness): they may be deleted before they are read. Raise its retention.ms",
        )
    if kept_ms < _DAY_MS:
        return warning(
            "retention",
            f"topic {topic} retains records for {kept}: a longer outage loses records. Raise its retention.ms",
        )
    return passed("retention", f"topic {topic} retains records for {kept}; events up to {latest} late count")


def _answer(asked: "Future[_T]", seconds: float, what: str) -> _T:
    try:
        return asked.result(seconds)
    except (KafkaException, TimeoutError) as error:
        raise TransientError(f"the broker did not return {what}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return str(error.args[0].str()) if isinstance(error, KafkaException) else "the request timed out"
