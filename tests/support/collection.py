"""Which modules a run imports, only those with a test that runs, and which worker runs them."""

import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from xdist.scheduler.loadfile import LoadFileScheduling

_ROOT: Final = Path(__file__).resolve().parents[2]
_READ_BY_SPARK: Final = re.compile(r"import .*\b(spark_reader|READERS|each_reader|on_spark)\b")
_WHOLLY_MARKED: Final = re.compile(r"^pytestmark = .*$", re.MULTILINE)
_ONLY_RULES_OUT: Final = re.compile(r"not \w+( and not \w+)*")
IN_VAIN: Final = pytest.StashKey[set[str]]()
"""Modules that were imported although their markers or fixtures rule out each of their tests."""
PACKAGES: Final = pytest.StashKey[set[str]]()
"""Packages that were imported when tests had been collected."""


def left_out(config: pytest.Config) -> set[str]:
    """Returns the markers whose tests do not run, if the expression of markers only rules some out."""
    words: list[str] = config.option.markexpr.split() if _ONLY_RULES_OUT.fullmatch(config.option.markexpr) else []
    return {*words} - {"not", "and"}


def markers_of(module: Path) -> set[str]:
    """Returns the markers that all tests of a module have, by its line `pytestmark = ...`, without importing it."""
    line = _WHOLLY_MARKED.search(module.read_text())
    return set(re.findall(r"mark\.(\w+)", line[0])) if line else set()


def note(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Stores in `config` what was imported, for a test of that."""
    ruling_out = left_out(config)
    wanted = {item.path for item in items if not ruling_out & {marker.name for marker in item.iter_markers()}}
    config.stash[IN_VAIN] = {str(item.path) for item in items} - {str(path) for path in wanted}
    config.stash[PACKAGES] = {name.partition(".")[0] for name in sys.modules}


def by_file(config: pytest.Config, log: object) -> object:
    """Returns a scheduler of xdist: a worker runs all tests of a file, and one of them all files that read by Spark.

    A Spark with Delta needs 40 seconds of processor time before its first answer, and each worker would start its own.
    """
    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = _group_of
    return scheduler


def _group_of(test: str) -> str:
    file = test.partition("::")[0]
    return "reading by Spark" if reads_by_spark(_ROOT / file) else file


@cache
def reads_by_spark(module: Path) -> bool:
    """Returns whether a test module imports what reads tables by Spark."""
    return _READ_BY_SPARK.search(module.read_text()) is not None
