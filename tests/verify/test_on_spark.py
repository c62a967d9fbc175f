"""Spark finds in a broken warehouse what DataFusion finds, with equal counts: at least one violation per invariant."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.seeds import drawn
from tests.support.spark_reader import spark_reader
from tests.verify.conftest import Copy
from tests.verify.plant import E, Rows, alter, change
from tests.verify.test_broken_kinds import BREAKS as IN_KINDS
from tests.verify.test_broken_ledger import DEAD_LETTERS, LEDGER
from tests.verify.test_broken_windows import BREAKS as IN_WINDOWS
from tests.verify.test_other_kinds import BREAKS as OF_OTHER_KINDS
from tidemark.pipeline.cli import main
from tidemark.pipeline.commands.spark_engine import SparkEngine
from tidemark.pipeline.verifier.invariants import INVARIANTS, check_invariant
from tidemark.pipeline.verifier.query_engines import Connect, DataFusion
from tidemark.pipeline.verifier.verification import Finding
from tidemark.pipeline.verifier.warehouse_snapshot import read

pytestmark = [pytest.mark.jvm, pytest.mark.slow]
Violation = tuple[str, str, Callable[[Rows], Rows], str, int]
"""The report of a warehouse, one of its tables, how that is broken, the sentence, and the index of the invariant."""
VIOLATIONS: dict[str, Violation] = {
    **{
        name: ("page_views", "ledger", *LEDGER[name], invariant)
        for invariant, name in enumerate(
            ["a batch is in another's epoch", "offsets overlap", "the watermark goes back"]
        )
    },
    "a dead letter is missing": ("page_views", "dead_letters", *DEAD_LETTERS["a dead letter is missing"], 3),
    **{
        name: (*(IN_WINDOWS | IN_KINDS | OF_OTHER_KINDS)[name], invariant)
        for name, invariant in {
            "a sketch has other users": 4,
            "a count of sessions is too high": 4,
            "the last page is an earlier one": 4,
            "a session has another end": 4,
            "a count window is missing": 4,
            "a first window, of fewer events, is missing": 4,
            "a user is in a bucket of others": 4,
            "a session lacks an event": 4,
            "panes count fewer events than visits and clicks": 4,
            "an hour is shorter than an hour": 5,
            "a row has fewer events than visits": 5,
            "an event that waits is gone": 6,
            "a purchase is gone from the panes of users": 6,
        }.items()
    },
    "a record of an epoch without deduplication is a duplicate": (
        "page_views",
        "ledger",
        change({"batch": E + 5}, duplicate=1, counted=0),
        "ledger: batch 1000000005, partition 0 has 1 duplicate, but its epoch does not deduplicate",
        7,
    ),
    "the ledger is an older copy": (
        "page_views",
        "ledger",
        lambda rows: [row for row in rows if row["batch"] < E + 3],
        "page_views: it is at batch 1000000004, but the ledger ends with 1000000002: it is a newer copy",
        8,
    ),
}


def finding_of(warehouse: Path, invariant: int, connect: Connect) -> Finding:
    """Checks an invariant in an engine."""
    return check_invariant(INVARIANTS[invariant], read(str(warehouse)).without((), connect), set())


def on_spark(warehouse: Path, invariant: int) -> Finding:
    """Checks an invariant in the session of this process."""
    session = SparkSession.getActiveSession()
    assert session
    return finding_of(warehouse, invariant, lambda tables: SparkEngine(session, tables))


# Which are compared by Spark's SQL, by Python on executors, and by transaction versions.
BY_DAY = ("offsets overlap", "a sketch has other users", "the ledger is an older copy")


@pytest.mark.parametrize(
    "name",
    [*drawn(BY_DAY, 1), *(pytest.param(name, marks=pytest.mark.nightly) for name in VIOLATIONS if name not in BY_DAY)],
)
def test_spark_reports_a_violation_as_datafusion_does(name: str, copy: Copy) -> None:
    report, table, how, sentence, invariant = VIOLATIONS[name]
    warehouse = copy(report)
    alter(warehouse, table, how)
    finding = spark_reader().call(on_spark, warehouse, invariant)
    assert sentence in "\n".join(finding.violations)
    assert finding == finding_of(warehouse, invariant, DataFusion)


def ledger_rows_of_an_earlier_snapshot(warehouse: Path) -> int:
    """Returns the number of rows of the ledger by a snapshot, after a later commit removed all of them."""
    session = SparkSession.getActiveSession()
    assert session
    tables = read(str(warehouse))
    alter(warehouse, "ledger", lambda _: [])
    return tables.without((), lambda stored: SparkEngine(session, stored)).scalar("SELECT count(*) FROM ledger")


def test_spark_reads_the_version_of_the_snapshot(copy: Copy) -> None:
    assert spark_reader().call(ledger_rows_of_an_earlier_snapshot, copy("page_views")) == 6


def exit_code(warehouse: Path) -> int:
    """Runs the verb."""
    return main(["verify", "--on-spark", f"--warehouse={warehouse}"])


@pytest.mark.nightly
def test_the_verb_finds_a_sound_warehouse_sound(sound: Copy) -> None:
    assert spark_reader().call(exit_code, sound("page_views")) == 0
