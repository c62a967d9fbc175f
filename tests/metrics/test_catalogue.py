"""The catalogue, the page and the documentation have the same metrics."""

import shutil
import subprocess
from collections import Counter

import pytest
from prometheus_client import generate_latest
from prometheus_client.exposition import choose_encoder
from prometheus_client.parser import text_string_to_metric_families

from dev.metrics_page import PAGE, with_table
from tests.metrics.fakes import START, World, batch, frontier
from tidemark.pipeline.event_time.policy import Verdict
from tidemark.pipeline.metrics.metric import MetricKind
from tidemark.pipeline.metrics.metric_catalogue import CATALOGUE, FailureKind
from tidemark.pipeline.metrics.observer import Observer
from tidemark.pipeline.metrics.processes import PROCESSES
from tidemark.pipeline.runtime.disk import Purpose, Size, Traffic


@pytest.fixture
def observer() -> Observer:
    """One whose every metric has a value."""
    observer = World(log_ends={0: 12}).observer()
    observer.failed(FailureKind.OTHER, "no reason", 1)
    observer.opened(1, frontier({0: 0}))
    observer.unpublished(1, START)
    observer.published({})
    moved = Counter({("panes", Purpose.COMPACTION): 4096})
    observer.measured({"ledger": Size(rows=3, bytes=4096, files=2)}, Traffic(moved, moved))
    after = frontier({0: 10}, watermark=START - 10_000, newest=START)
    observer.committed(batch(frontier({0: 0}), after, {0: Counter({Verdict.COUNTED: 10})}), START)
    return observer


def test_metrics_are_unique_and_in_order() -> None:
    names = [metric.name for metric in CATALOGUE]
    assert names == sorted(set(names))


def test_a_unit_is_a_base_unit_or_what_is_counted() -> None:
    counted = {"attempts", "batches", "failures", "files", "jobs", "letters", "offset", "records", "rows", "windows"}
    assert {metric.unit for metric in CATALOGUE} == {"", "bytes", "seconds"} | counted
    plain = [metric.name for metric in CATALOGUE if not metric.unit]
    assert plain == ["tidemark_build_info", "tidemark_epoch", "tidemark_partition_idle"]


def test_only_counters_end_with_total() -> None:
    for metric in CATALOGUE:
        assert metric.name.startswith("tidemark_")
        assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER), metric.name


def test_the_page_has_every_metric_of_the_catalogue_and_no_other(observer: Observer) -> None:
    families = text_string_to_metric_families(generate_latest(observer.registry).decode())
    families_on_page = {
        (family.name + "_total" * (family.type == "counter"), family.type) for family in families if family.samples
    }
    assert families_on_page == {(metric.name, metric.kind.value) for metric in (*CATALOGUE, *PROCESSES)}


def test_labels_on_the_page_match_the_catalogue(observer: Observer) -> None:
    labels = {metric.name.removesuffix("_total"): set(metric.labels) for metric in (*CATALOGUE, *PROCESSES)}
    for family in observer.registry.collect():
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == labels[family.name]


def test_the_page_is_available_as_openmetrics(observer: Observer) -> None:
    encode, _ = choose_encoder("application/openmetrics-text; version=1.0.0")
    assert encode(observer.registry).endswith(b"# EOF\n")


def test_a_scrape_may_ask_for_one_metric(observer: Observer) -> None:
    selected = observer.registry.restricted_registry(["tidemark_records_total"])
    assert {sample.name for family in selected.collect() for sample in family.samples} == {"tidemark_records_total"}


def test_promtool_accepts_the_page(observer: Observer) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not on PATH; Debian has it in the package prometheus")
    page = generate_latest(observer.registry)
    done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")


def test_the_page_of_the_metrics_is_what_the_catalogue_makes() -> None:
    assert PAGE.read_text() == with_table(PAGE.read_text()), "make pages"
