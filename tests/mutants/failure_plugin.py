"""A plugin of pytest that writes the first failure as JSON to the file in `MUTANT_FAILURE`.

It is copied next to a mutated tree and imported from that folder, so it imports nothing of the project.
"""

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

ASSERTION = "assertion"
"""A test noticed: an assertion, or an error that the project raises on purpose."""


def kind_of(error: BaseException) -> str:
    """Returns `assertion`, or the name of the error's type if the code is merely broken.

    An error that the project defines counts as an assertion: the product itself has noticed.
    """
    if isinstance(error, BaseExceptionGroup):
        kinds = {kind_of(each) for each in error.exceptions}
        return ASSERTION if ASSERTION in kinds else min(kinds)
    is_own = type(error).__module__.split(".")[0] == "tidemark"
    if is_own or isinstance(error, AssertionError | pytest.fail.Exception):
        return ASSERTION
    return type(error).__name__


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Writes the failure of a test with the names of its markers."""
    report = yield
    if report.failed and call.excinfo is not None:
        _write(item.nodeid, [marker.name for marker in item.iter_markers()], kind_of(call.excinfo.value))
    return report


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Writes that a file could not be imported."""
    if report.failed:
        _write(report.nodeid, [], "ImportError")


def _write(test: str, markers: list[str], kind: str) -> None:
    path = Path(os.environ["MUTANT_FAILURE"])
    if not path.exists():
        path.write_text(json.dumps({"test": test, "markers": markers, "kind": kind}))
