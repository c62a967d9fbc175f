"""Measures of fields that are not those of panes and corrections are found, in windows of every kind."""

import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.conservation import violations
from tests.support.spark_reader import spark_reader
from tests.verify.plant import BOUND, alter, at, change, ms
from tests.verify.priced_site import FIELDS, PricedSite
from tests.verify.site import MINUTE, POLICY, Event
from tests.verify.test_on_spark import finding_of, on_spark
from tidemark.pipeline.ddsketch import bucket_of, sketch_of
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.kinds import AnyWindows
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.value_lists import path_of, set_of
from tidemark.pipeline.verifier.query_engines import DataFusion

pytestmark = pytest.mark.slow
RESULTS = 4
"""The index of the invariant of results."""
MEASURES = ("page_views", "clicks", *(name for measure in FIELDS for name in measure.measure_names))
KINDS: dict[str, AnyWindows] = {
    "grid": Grid(10 * MINUTE, 10 * MINUTE),
    "sessions": Sessions(5 * MINUTE),
    "pairs": Counts(2),
    "slid": SlidingCounts(2, 1),
}
EVENTS = [Event(1, page="/b"), Event(2), Event(3, "bob", page="/c"), Event(4, "bob", click=True)]
BREAKS: dict[str, tuple[dict[str, Any], str]] = {
    "revenue": ({"revenue": Decimal("0.01")}, f"shows revenue 1, but its {BOUND} -700"),
    "lowest": ({"lowest": None}, f"shows lowest 2000000000000000000, but its {BOUND} -400"),
    "highest": ({"highest": Decimal(5)}, f"shows highest 500, but its {BOUND} -300"),
    "average": ({"average": 1.5}, "shows average 1.5, but its other columns make -3.5"),
    "its sum": ({"average_sum": 9, "average": 0.045}, f"shows average 9, but its {BOUND} -700"),
    "entry": ({"entry": "/x"}, "shows entry '/x', but its other columns make '/b'"),
    "different pages": ({"pages": 7}, f"shows 7 pages, but its {BOUND} 2"),
    "spread": ({"spread_p50": Decimal("0.01")}, "shows spread_p50 1, but its sketch makes -402"),
    "no spread": ({"spread_p99_9": None}, "shows spread_p99_9 None, but its sketch makes -302"),
    "its sketch": (
        {"spread_sketch": sketch_of([9, bucket_of(-400)], [1, 1]), "spread_p50": Decimal("-4.02")},
        f"has 0 numbers near -302 in the sketch of spread, but its {BOUND} 1",
    ),
    "no sketch": (
        {"spread_sketch": None, "spread_p50": None, "spread_p99_9": None},
        "has no sketch of spread_p50",
    ),
    "its order": (
        {"spread_sketch": sketch_of([bucket_of(-300)], [1]) + sketch_of([bucket_of(-400)], [1])},
        "has a sketch of spread that is not in order",
    ),
    "seen": (
        {"seen": ["/", "/a"]},
        "shows other texts of seen than its state, of which it must list 2 and leave out 0",
    ),
    "its cut": ({"seen_cut": 1}, "shows other texts of seen than its state, of which it must list 2 and leave out 0"),
    "other pages seen": (
        {"seen": ["/"], "seen_sketch": set_of("/", 3)},
        "has other texts of seen than its panes and corrections, of which it must list 2 and leave out 0",
    ),
    "way": ({"way": ["/", "/b"]}, "shows other texts of way than its state, of which it must list 2 and leave out 0"),
    "no list": ({"way": None}, "shows other texts of way than its state, of which it must list 2 and leave out 0"),
    "another order": (
        {"way": ["/", "/b"], "way_sketch": path_of([(ms(1), 0, "/"), (ms(2), 1, "/b")], 3)},
        "has other texts of way than its panes and corrections, of which it must list 2 and leave out 0",
    ),
    "no way": (
        {"way": [], "way_sketch": b""},
        "has other texts of way than its panes and corrections, of which it must list 2 and leave out 0",
    ),
    "its state": ({"exit_after_time": "", "exit": None}, f"shows exit '', but its {BOUND} '{ms(2):019d} /'"),
}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Returns a sound warehouse for each kind of windows."""
    made = {}
    for name, windows in KINDS.items():
        report = Report(name, windows, 5 * MINUTE * (name in ("grid", "sessions")), measures=MEASURES)
        policy = replace(POLICY, reports=(replace(report, field_measures=FIELDS),), totals=None)
        made[name] = tmp_path_factory.mktemp(name)
        site = PricedSite(made[name], policy).open()
        site.batch(*EVENTS)
        site.batch(Event(12))
        assert not violations(made[name])
    return made


@pytest.mark.parametrize("broken", BREAKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_measure_that_is_not_that_of_its_panes_is_reported(
    kind: str, broken: str, sites: dict[str, Path], tmp_path: Path
) -> None:
    warehouse = tmp_path / "copy"
    shutil.copytree(sites[kind], warehouse)
    values, sentence = BREAKS[broken]
    alter(warehouse, kind, change({"window_start": at(1 if kind != "grid" else 0), "user_id": "ann"}, **values))
    found = violations(warehouse)
    counts = f"{kind}: window"
    is_of_row = any(part in sentence for part in ("other columns", "7 pages", "sketch", "other texts"))
    if kind in ("pairs", "slid") and not is_of_row:
        assert any("full with batch" in each for each in found), found
    else:
        assert any(each.startswith(counts) and sentence in each for each in found), found


@pytest.mark.jvm
@pytest.mark.nightly  # `test_on_spark` has samples
@pytest.mark.parametrize("kind", KINDS)
def test_spark_finds_what_data_fusion_finds(kind: str, sites: dict[str, Path], tmp_path: Path) -> None:
    warehouse = tmp_path / "copy"
    shutil.copytree(sites[kind], warehouse)
    assert spark_reader().call(on_spark, warehouse, RESULTS).violation_count == 0
    wrong = {"revenue": Decimal("0.01"), "exit_after_time": "", "spread_sketch": sketch_of([9], [1])}
    wrong |= {"way_sketch": b"", "seen": ["/"]}
    alter(warehouse, kind, change({"window_start": at(1 if kind != "grid" else 0), "user_id": "ann"}, **wrong))
    found = spark_reader().call(on_spark, warehouse, RESULTS)
    assert sorted(found.violations) == sorted(finding_of(warehouse, RESULTS, DataFusion).violations)
    assert found.violation_count > 0
