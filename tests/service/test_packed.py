"""The parts of a packed number are unpacked unchanged, however many checks there are."""

from enum import IntEnum
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from types import ModuleType

import pytest
from pyspark.sql import functions as F

from tests.support.brief_java import BRIEF_DRIVER
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import checks
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.fold import packed
from tidemark.pipeline.fold.grouping_sets import Groupings
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings

pytestmark = pytest.mark.jvm
GRID = Groupings((("user_id",),), (), 1_000, 0, ("flag",))
PARTITIONS = 3
GROUP = "pane long, partition int, check int, flag boolean"


def with_checks(monkeypatch: pytest.MonkeyPatch, *names: str) -> ModuleType:
    """Returns a copy of the module that was loaded with further checks."""
    more = {name: len(Check) + index for index, name in enumerate(names)}
    existing = {check.name: check.value for check in Check}
    monkeypatch.setattr(checks, "Check", IntEnum("Check", existing | more))
    spec = spec_from_file_location("packed_with_more_checks", packed.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_sixteenth_and_a_seventeenth_check_collide_with_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    module = with_checks(monkeypatch, "SIXTEENTH", "SEVENTEENTH")
    groups = [*product((0, 1, 7), range(PARTITIONS), range(len(Check) + 2), (False, True))]
    number = module.packed(F.col("pane"), PARTITIONS, GRID.flags).alias(packed.GROUP)
    numbers = spark.createDataFrame(groups, GROUP).select(number)
    parts = [
        (pane * 1_000 if check <= Check.PARTLY_LATE else None, partition, check, int(flag))
        for pane, partition, check, flag in groups
    ]
    names = (c.PANE_START, c.PARTITION, c.CHECK, c.FLAGS)
    by_spark = numbers.select(*module.unpacked(GRID, PARTITIONS)).select(*names).collect()
    assert [tuple(row) for row in by_spark] == parts
    by_driver = module.unpacked_rows(numbers.toArrow(), GRID, PARTITIONS).select(names).to_pylist()
    assert [tuple(row.values()) for row in by_driver] == parts
