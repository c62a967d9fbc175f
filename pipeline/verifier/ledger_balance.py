"""Invariant 1: every batch of the ledger balances to the record."""

from typing import Final

from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.verifier import queries
from tidemark.pipeline.verifier.verification import Finding
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_ROW: Final = "ledger: batch {batch}, partition {partition}"
_VERDICTS_SQL: Final = "counted + too_late + future + malformed + {duplicate} + {erased} + {left_out}"
_COUNTS: Final = (
    "from_offset", "to_offset", "records", "counted", "partly_late", "too_late", "future", "malformed", "gap", "lost",
)  # fmt: skip
_EPOCH_SQL: Final = f"CAST((batch - batch % {EPOCH}) / {EPOCH} AS BIGINT)"
_LEAST_SQL: Final = ", ".join((*_COUNTS, "{duplicate}", "{erased}", "{left_out}"))
# The condition of a violation, the number found, the number expected, and the sentence. `IS DISTINCT FROM`, because a
# null is a violation, too.
_ROWS: Final = (
    (
        f"records IS DISTINCT FROM {_VERDICTS_SQL}", "records", _VERDICTS_SQL,
        f"{_ROW} has {{found:count record}} and {{expected:count verdict}}",
    ),
    (
        "to_offset - from_offset IS DISTINCT FROM records + gap + lost", "to_offset - from_offset",
        "records + gap + lost",
        f"{_ROW} has {{found:count offset}}, but records, gaps and lost records make {{expected}}",
    ),
    (
        f"least({_LEAST_SQL}) < 0", f"least({_LEAST_SQL})", "0",
        f"{_ROW} has a number below 0: {{found}}",
    ),
    (
        "partly_late IS NULL OR partly_late > counted", "partly_late", "counted",
        f"{_ROW} counted {{expected:count record}}, but calls {{found}} partly late",
    ),
    (
        f"{_EPOCH_SQL} IS DISTINCT FROM epoch", "epoch", _EPOCH_SQL,
        f"{_ROW} is in epoch {{found}}, but its batch id implies {{expected}}",
    ),
    (
        f"batch % {EPOCH} = 0 AND records <> 0", "records", "0",
        f"{_ROW} opens an epoch and has {{found:count record}}, but must have {{expected}}",
    ),
    (
        f"(batch % {EPOCH} = 0) <> (opening IS NOT NULL)", "coalesce(length(opening), 0)", "0",
        f"{_ROW} has an opening of {{found:count character}}: only the batch that opens an epoch has an opening",
    ),
)  # fmt: skip
_NOT_OPENED_SQL: Final = f"""
SELECT epoch, min(batch) AS found, epoch * {EPOCH} AS expected FROM ledger GROUP BY epoch
HAVING min(batch) <> epoch * {EPOCH} ORDER BY epoch
"""


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Checks each row, then that each batch occurs once and that each epoch is opened."""
    sizes = tables.ask(
        "SELECT count(*) AS rows, count(DISTINCT batch) AS batches, count(DISTINCT epoch) AS epochs FROM ledger"
    )
    (size,) = sizes.to_pylist()
    finding.count(size["rows"], "row")
    finding.count(size["batches"], "batch", "batches")
    finding.count(size["epochs"], "epoch")
    later = {name: tables.ledger_column_sql(name) for name in ("duplicate", "erased", "left_out")}
    for condition, found, expected, sentence in _ROWS:
        violations = (
            f'SELECT batch, "partition", {found} AS found, {expected} AS expected FROM ledger WHERE {condition} '
            'ORDER BY batch, "partition"'
        )
        finding.report_rows(tables.ask(violations.format(**later)), sentence)
    repeated = tables.ask(queries.repeated_sql("ledger", ("batch", '"partition"')))
    finding.report_rows(repeated, f"{_ROW} occurs {{found}} times, but must occur once")
    finding.report_rows(
        tables.ask(_NOT_OPENED_SQL), "ledger: epoch {epoch} begins with batch {found}, but {expected} opens it"
    )
    for batch, why in tables.opening_errors.items():
        finding.report(f"ledger: the opening of batch {batch} cannot be read ", f"({why})")
