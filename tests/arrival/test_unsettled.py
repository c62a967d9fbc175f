"""Events that could be read only after the batch of their arrival are counted, because another reading may differ."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support import warehouse as tables
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, metric, settings_of
from tests.support.topic_writer import event, send
from tidemark.pipeline.app import open_service
from tidemark.pipeline.cli import main
from tidemark.pipeline.kafka.ranges import TopicRanges

pytestmark = pytest.mark.broker

_TIME: Final[dict[str, Any]] = {"judged": "arrival", "bound": "1s", "allowed_lateness": "1m", "idle_timeout": "1h"}


#   offset       0    1  |   2    3     Kafka timestamps in seconds; the first batch ends at 11
#   timestamp   10    9  |   8   12     1 arrives with 0; 2 came after its cut
def test_events_that_come_after_the_cut_of_their_arrival_are_counted(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    with open_service(settings_of(broker, topic, tmp_path, time=_TIME), now=Clock(LATER)) as service:
        stream = service._stream
        for start, seconds, until in ((0, (10, 9), 11), (2, (8, 12), 13)):
            send(broker.bootstrap_servers, topic, [event("ann", second * 1_000) for second in seconds])
            starts, ends = {0: start}, {0: start + len(seconds)}
            stream.on_batch(TopicRanges(stream.spark, stream.kafka, starts, ends, until * 1_000))
        assert metric(service, "tidemark_unsettled_records_total") == 1
    batches = sorted(tables.rows(tmp_path, "ledger"), key=lambda row: row["batch"])
    assert [row["unsettled"] for row in batches if row["records"]] == [0, 1]
    assert_conserved(tmp_path)
    assert main(["status", "--warehouse", str(tmp_path)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "unsettled" in line]
    assert re.findall(r"\d+", line)[-1] == "1"
