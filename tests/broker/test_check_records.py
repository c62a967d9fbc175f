"""`tidemark check` reads the newest records as `run` would, and names what they look like."""

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.kafka_cluster import Cluster
from tests.support.seeds import drawn
from tests.support.topic_writer import Raw, event, send, value_of
from tidemark.pipeline.cli import main
from tidemark.pipeline.commands.preflight.record_checks import likely_format
from tidemark.pipeline.instants import now_ms

MakeTopic = Callable[..., str]
MAPPED = """
[schemas]
format = "json"
[schemas.mapping]
user = "who"
time = "when"
kind = "what"
kinds = {view = "visit"}
page = "properties.url"
[measures]
revenue = {sum = "cart.price", digits = 2}
prices = {quantiles = "cart.price", at = [0.5, 0.9], digits = 3}
[reports.pages]
keys = ["page_url"]
where = "tier = 'pro' AND plan = 'pro'"
measures = ["page_views", "revenue", "prices"]
"""
EVENT = json.dumps({"user_id": "ann", "time": 1}).encode()


def check(broker: Cluster, topic: str, folder: Path, sent: Sequence[Raw], *options: str) -> int:
    """Sends records, with Kafka's timestamps of now; returns the exit code of `tidemark check`."""
    send(broker.bootstrap_servers, topic, [replace(record, timestamp_ms=now_ms()) for record in sent])
    where = [f"--bootstrap-servers={broker.bootstrap_servers}", f"--topic={topic}", f"--warehouse={folder / 'w'}"]
    return main(["check", *where, "--metrics.port=0", *options])


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([EVENT, b'  [{"a": 1}]'], "JSON"),
        ([b"\0\0\0\0\7" + EVENT], "JSON"),
        ([b'{"a": 1', b"2026-11-26,ann,/"], "text"),
        ([b"\xc3\x01" + bytes(8)], "Avro in single-object encoding"),
        ([b"Obj\x01\x02"], "Avro container files"),
        ([gzip.compress(EVENT)], "gzip"),
        ([b"\x08\x96\x01", b"\x08\x96\x02"], "Avro or Protobuf without a schema id"),
        ([bytes(8) + b"\7\x02a"], "Avro with schema ids of eight bytes"),
        ([b"\0\0\0\0\7\x02a"], None),
        ([None, b""], None),
        ([b"[" * 100_000], "text"),
    ],
)
def test_a_format_is_recognised_by_its_first_bytes(values: Sequence[bytes | None], name: str | None) -> None:
    assert likely_format(iter(values)) == name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "code", "line"),
    drawn(
        [
            pytest.param([], 0, "pass  records     the topic has no records yet", id="empty"),
            pytest.param([event("ann", now_ms())], 0, "pass  records     1 newest record: all count", id="events"),
            pytest.param(
                [event("ann", now_ms()), event("ann", now_ms()), Raw(b"?")],
                0,
                "warn  records     3 newest records: not all count: 2 counted, 1 the value does not begin with magic",
                id="one malformed",
            ),
            pytest.param([Raw(EVENT)], 1, 'The values look like JSON: set schemas.format to "json"', id="JSON"),
            pytest.param(
                [Raw(value_of("ann", 1)[5:])],
                1,
                "The values look like Avro or Protobuf without a schema id, which is not read",
                id="unframed",
            ),
            pytest.param(
                [Raw(bytes(5) + value_of("ann", 1)[1:])], 1, 'set schemas.registry.ids to "auto"', id="long ids"
            ),
            pytest.param(
                [Raw(value_of("ann", 1)[5:], headers={"__value_schema_id": b"\1" + bytes(16)})],
                1,
                "The schema ids are in a header that these settings do not read (__value_schema_id)",
                id="ids in headers",
            ),
            pytest.param([event("ann", now_ms() // 1000)], 1, "is the unit right", id="seconds"),
        ],
        count=3,
    ),
)
def test_the_newest_records_are_judged(
    sent: Sequence[Raw],
    code: int,
    line: str,
    broker: Cluster,
    make_topic: MakeTopic,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert check(broker, make_topic(partitions=2), tmp_path, sent) == code
    assert line in capsys.readouterr().out
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_fields_that_no_event_has_and_all_reasons_are_named_as_in_the_topic(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every view would be counted under no page, and no event would meet the condition."""
    good: dict[str, object] = {"who": "ann", "what": "view", "when": now_ms(), "url": "/", "plan": "pro"}
    odd: list[dict[str, object]] = [
        {"who": ""},
        {"what": "scroll"},
        {"when": "yesterday"},
        {"when": now_ms() + 10**9},
        {"when": 5},
    ]
    prices: list[dict[str, object]] = [{"cart": {"price": price}} for price in (1.5, 0.125, "free", None)]
    events = [good, *({**good, **change} for change in [*odd, *prices])]
    config = tmp_path / "tidemark.toml"
    config.write_text(MAPPED)
    records = [Raw(json.dumps(each).encode()) for each in [*events, *[good] * 16]] + [Raw(b"?")]
    assert check(broker, make_topic(partitions=1), tmp_path, records, f"--config={config}") == 0
    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines() if line]
    found = [words[2] for words in lines if words[:2] == ["warn", "fields"]]
    assert [words.partition(" is null in all of 2")[0] for words in found] == ["properties.url", "tier"]
    assert "does schemas.mapping.page name" in found[0]
    of_prices, of_revenue = [words[2] for words in lines if words[:2] == ["warn", "measures"]]
    assert of_prices.startswith("measures.prices leaves out 1 of 2"), of_prices
    assert of_revenue.startswith("measures.revenue leaves out 2 of 2"), of_revenue
    (sentence,) = [words[2] for words in lines if words[:2] == ["warn", "records"]]
    reasons = (
        "21 counted",
        "1 who is empty",
        "1 what is no value of schemas.mapping.kinds",
        "when is missing or unreadable",
        "1 future",
        "JSON in UTF-8",
    )
    assert [reason for reason in reasons if reason not in sentence] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "code", "line"),
    [
        ({"user_id": "ann", "event_type": "visit", "event_time": now_ms()}, 0, "1 newest record: all count"),
        ({"user": "ann"}, 1, "The values are JSON: do schemas.mapping.user, time and kind name the right fields?"),
    ],
)
def test_the_newest_records_in_json_are_judged(
    sent: dict[str, object],
    code: int,
    line: str,
    broker: Cluster,
    make_topic: MakeTopic,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = [Raw(json.dumps(sent).encode())]
    assert check(broker, make_topic(partitions=1), tmp_path, records, "--schemas.format=json") == code
    output = capsys.readouterr().out
    assert line in output
    assert "schemas     JSON, which is read without schemas" in output
