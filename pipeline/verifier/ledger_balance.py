"""Law 1: every batch of the ledger balances to the record."""

from typing import Final

from pipeline.event_time.batch import EPOCH
from pipeline.verifier import queries
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_ROW: Final = "ledger: batch {batch}, partition {partition}"
_VERDICTS: Final = "counted + too_late + future + malformed + {duplicate} + {erased}"
_NUMBERS: Final = (
    "from_offset", "to_offset", "records", "counted", "partly_late", "too_late", "future", "malformed", "gap", "lost",
)  # fmt: skip
_LEAST: Final = ", ".join((*_NUMBERS, "{duplicate}", "{erased}"))
# Of each row: what must not be, the two numbers, and how to say it. With DISTINCT, because a null is a breach, too.
_ROWS: Final = (
    (
        f"records IS DISTINCT FROM {_VERDICTS}", "records", _VERDICTS,
        f"{_ROW} has {{found}} records and {{wanted}} verdicts",
    ),
    (
        "to_offset - from_offset IS DISTINCT FROM records + gap + lost", "to_offset - from_offset",
        "records + gap + lost",
        f"{_ROW} has {{found}} offsets, and {{wanted}} records, gaps and lost ones",
    ),
    (
        f"least({_LEAST}) < 0", f"least({_LEAST})", "0",
        f"{_ROW} has a number below 0: {{found}}",
    ),
    (
        "partly_late IS NULL OR partly_late > counted", "partly_late", "counted",
        f"{_ROW} has {{found}} records that were partly late, of only {{wanted}} that were counted",
    ),
    (
        f"batch / {EPOCH} IS DISTINCT FROM epoch", "epoch", f"batch / {EPOCH}",
        f"{_ROW} is in epoch {{found}}, but its number says {{wanted}}",
    ),
    (
        f"batch % {EPOCH} = 0 AND records <> 0", "records", "0",
        f"{_ROW} opens an epoch and has {{found}} records, but must have {{wanted}}",
    ),
    (
        f"(batch % {EPOCH} = 0) <> (opening IS NOT NULL)", "coalesce(length(opening), 0)", "0",
        f"{_ROW} has an opening of {{found}} letters: only the batch that opens an epoch has one, and always",
    ),
)  # fmt: skip
_NOT_OPENED: Final = f"""
SELECT epoch, min(batch) AS found, epoch * {EPOCH} AS wanted FROM ledger GROUP BY epoch
HAVING min(batch) <> epoch * {EPOCH} ORDER BY epoch
"""


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Checks each row, then that each batch is there once and that each epoch is opened."""
    sizes = tables.ask(
        "SELECT count(*) AS rows, count(DISTINCT batch) AS batches, count(DISTINCT epoch) AS epochs FROM ledger"
    )
    for what, number in sizes.to_pylist()[0].items():
        finding.look(number, what)
    later = {name: tables.of_ledger(name) for name in ("duplicate", "erased")}
    for condition, found, wanted, sentence in _ROWS:
        wrong = (
            f'SELECT batch, "partition", {found} AS found, {wanted} AS wanted FROM ledger WHERE {condition} '
            'ORDER BY batch, "partition"'
        )
        finding.each(tables.ask(wrong.format(**later)), sentence)
    twice = tables.ask(queries.twice("ledger", ("batch", '"partition"')))
    finding.each(twice, f"{_ROW} is there {{found}} times, but must be once")
    finding.each(tables.ask(_NOT_OPENED), "ledger: epoch {epoch} begins with batch {found}, but {wanted} opens it")
    for batch, why in tables.unclear.items():
        finding.breach(f"ledger: the opening of batch {batch} cannot be read ({why})")
