"""The log of a table stays short: each commit lists it, so a batch would cost more with every batch before it."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, Clock, metric, settings_of, take
from tests.support.topic_writer import event
from tests.support.warehouse import table
from tests.verify.site import POLICY
from tidemark.pipeline.app import open_service
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.tables.dictionary import EVENT_SCHEMAS
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.schemas import LOG_CLEANUP, OWN, TableSpec, results_of
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.slow
MANY = 130
"""Commits, of which a hundred lie before a checkpoint."""
WRITTEN = 'tidemark_table_written_bytes_total{purpose="append",table="panes"}'
TWO_DAYS_S = 2 * 86_400
SPEC = TableSpec("t", pa.schema([pa.field("a", pa.int64())]), EVENT_SCHEMAS)
ONE = pa.table({"a": [1]}, SPEC.schema)


def entries(warehouse: Path, name: str) -> list[int]:
    """The versions of which the log has an entry."""
    return sorted(int(one.stem) for one in (warehouse / name / "_delta_log").glob("[0-9]*[0-9].json"))


def grow_old(warehouse: Path, name: str) -> None:
    """As if all commits so far were of two days ago."""
    for entry in (warehouse / name / "_delta_log").iterdir():
        then = entry.stat().st_mtime - TWO_DAYS_S
        os.utime(entry, (then, then))


def test_no_commit_looks_for_what_is_old(tmp_path: Path) -> None:
    policy = replace(POLICY, deduplicate=True)
    create_tables(str(tmp_path), policy)
    made = [*tmp_path.iterdir()]
    assert {one.name for one in made} >= {"panes", "dead_letters", "event_ids", "page_views", "user_totals"}
    assert all(DeltaTable(str(one)).metadata().configuration[LOG_CLEANUP] == "false" for one in made)
    assert all(spec.properties[LOG_CLEANUP] == "false" for spec in (*OWN, *results_of(policy)))


def test_upkeep_measures_what_was_written_and_then_removes_old_entries(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, tmp_path, window={"size": "10s"})
    with open_service(settings, now=Clock(), tuning=Tuning(upkeep_batches=1)) as service:
        take(service, broker, topic, [[event("ann", 1_000)]])
        panes, ledger = (Handle(str(tmp_path / name)) for name in ("panes", "ledger"))
        rows, size = (
            panes.table.to_pyarrow_table(),
            sum(pa.table(panes.table.get_add_actions())["size_bytes"].to_pylist()),
        )
        for _ in range(MANY):
            assert panes.swap(rows, by=None)
            assert ledger.swap(ledger.table.to_pyarrow_table().slice(0, 0), by=None)
        for name in ("panes", "ledger"):
            grow_old(tmp_path, name)
        take(service, broker, topic, [[event("ann", 2_000)]])
        assert metric(service, WRITTEN) > MANY * size * 0.9
    for name in ("panes", "ledger"):
        left = entries(tmp_path, name)
        assert left[0] > MANY / 2
        assert left[-1] > MANY


def test_a_handle_that_is_older_than_the_log_moves_on(tmp_path: Path) -> None:
    writer = Handle.of(SPEC, str(tmp_path))
    old = [Handle(writer.table.table_uri)]
    for _ in range(MANY):
        assert writer.swap(ONE, by=None)
        old.append(Handle(writer.table.table_uri))
    grow_old(tmp_path, "t")
    writer.table.cleanup_metadata()
    first = entries(tmp_path, "t")[0]
    assert first > MANY / 2
    for handle in (old[0], old[first - 2], old[first - 1], old[first]):
        assert not handle.swap(ONE, by=None)
        assert handle.swap(ONE, by=None)
    assert table(tmp_path, "t").num_rows == MANY + 4
