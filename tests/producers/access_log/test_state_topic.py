"""How the state of a run is read, by a Kafka client that notes its configuration."""

from collections import Counter
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from tidemark.producers.access_log import state_topic
from tidemark.producers.access_log.log_position import FilePosition, LogPosition
from tidemark.producers.access_log.outcome import LineOutcome
from tidemark.producers.access_log.state import state_records
from tidemark.producers.access_log.state_topic import StateTopic
from tidemark.producers.broker import Target

POSITION = LogPosition(FilePosition.after(b"line", 5))


def message(offset: int, key: bytes, value: bytes | None) -> Any:
    return SimpleNamespace(error=lambda: None, offset=lambda: offset, key=lambda: key, value=lambda: value)


def test_the_state_is_that_of_committed_transactions_from_the_start_of_the_topic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = [*state_records("shop", POSITION, Counter({LineOutcome.VISIT: 3}), [])]
    messages = [message(offset, *record) for offset, record in enumerate(records)]
    asked = dict[str, Any]()

    def consumer(config: Mapping[str, Any]) -> Any:
        asked.update(config)
        assigned = asked.setdefault("assigned", [])
        return SimpleNamespace(assign=assigned.extend, consume=lambda *_, **__: messages, close=lambda: None)

    monkeypatch.setattr(state_topic, "partitions_of", lambda _: 1)
    monkeypatch.setattr(state_topic, "Consumer", consumer)
    monkeypatch.setattr(StateTopic, "_check_policy", lambda _: None)
    monkeypatch.setattr(StateTopic, "_end", lambda *_: len(messages))
    state = StateTopic(Target("localhost", "events"), "state").read("shop")
    assert (state.position, state.counts) == (POSITION, {LineOutcome.VISIT: 3})
    assert asked["isolation.level"] == "read_committed"
    assert [(each.topic, each.partition, each.offset) for each in asked["assigned"]] == [("state", 0, 0)]
