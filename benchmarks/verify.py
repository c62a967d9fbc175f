"""Checks after a drain that our own tables add up."""

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from benchmarks.errors import BenchmarkError
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.policy import REJECTED, Verdict
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, LEDGER, PAGE_VIEWS


def ledger(warehouse: str) -> pa.Table:
    """Returns the ledger's rows in order of batch and partition."""
    return (
        DeltaTable(LEDGER.uri(warehouse))
        .to_pyarrow_table()
        .sort_by([("batch", "ascending"), ("partition", "ascending")])
    )


def verify(warehouse: str, events: int) -> dict[str, int]:
    """Returns the totals of the ledger and the numbers of rows of the tables.

    Raises BenchmarkError unless every event on the topic is in the ledger once, with a verdict, and every rejected
    event is a dead letter.
    """
    rows = ledger(warehouse)
    names = ["records", "gap", *(verdict.value for verdict in Verdict)]
    totals = {name: pc.sum(rows[name]).as_py() for name in names}
    totals["offsets"] = pc.sum(pc.subtract(rows["to_offset"], rows["from_offset"])).as_py()
    for spec in (DEAD_LETTERS, PAGE_VIEWS):
        totals[spec.name] = DeltaTable(spec.uri(warehouse)).to_pyarrow_dataset().count_rows()
    rejected = sum(totals[name] for name in REJECTED)
    _require(totals["records"] == events, f"{events} events were on the topic", totals)
    _require(totals["offsets"] == totals["records"] + totals["gap"], "offsets must be records and gaps", totals)
    _require(totals["counted"] + totals["duplicate"] + rejected == events, "every record must have one verdict", totals)
    _require(totals[DEAD_LETTERS.name] == rejected, "every rejected record must be a dead letter", totals)
    return totals


def committed_at(warehouse: str) -> list[float]:
    """Returns when each batch was committed, in order, in seconds since 1970; without the opening of the epoch."""
    rows = ledger(warehouse)
    commits = dict(zip(rows["batch"].to_pylist(), rows["committed_at"].to_pylist(), strict=True))
    return [at / 1000 for batch, at in commits.items() if batch > EPOCH]


def _require(holds: bool, rule: str, totals: dict[str, int]) -> None:  # noqa: FBT001 - an assertion
    if not holds:
        raise BenchmarkError(f"the tables do not add up, {rule}: {totals}")
