"""The end of the ledger, without texts: offsets, counts and times, which identify no person."""

from typing import Final, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.tables.ledger import has_columns, require_warehouse
from tidemark.pipeline.tables.opening import read_opening
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import LEDGER

_ROWS: Final = 40
_EPOCHS: Final = 5
_NUMBERS: Final = tuple(field.name for field in LEDGER.schema if pa.types.is_integer(field.type))


class EpochVersion(NamedTuple):
    """An epoch, and the format and version that its opening records; None if it cannot be read."""

    epoch: int
    format: int | None = None
    written_by: str | None = None


def last_rows(warehouse: str) -> list[Row]:
    """Returns the numbers in the last rows, the newest batch first. Raises SetUpError if there is no warehouse."""
    ledger = _open(warehouse)
    names = ", ".join(f'"{name}"' for name in _NUMBERS if has_columns(ledger, [name]))
    return rows_of(
        f'SELECT {names} FROM ledger ORDER BY {c.BATCH} DESC, "{c.PARTITION}" LIMIT {_ROWS}',  # noqa: S608 - our own names
        ledger=ledger,
    )


def last_versions(warehouse: str) -> list[EpochVersion]:
    """Returns the versions that opened the last epochs, the newest first. Raises SetUpError without a warehouse."""
    rows = rows_of(
        "SELECT DISTINCT epoch, opening FROM ledger WHERE opening IS NOT NULL "  # noqa: S608 - our own number
        f"ORDER BY epoch DESC LIMIT {_EPOCHS}",
        ledger=_open(warehouse),
    )
    return [_version(row["epoch"], row["opening"]) for row in rows]


def _version(epoch: int, text: str) -> EpochVersion:
    try:
        opening = read_opening(text)
    except SetUpError:
        return EpochVersion(epoch)
    return EpochVersion(epoch, opening.format, opening.written_by)


def _open(warehouse: str) -> DeltaTable:
    require_warehouse(warehouse)
    return DeltaTable(LEDGER.uri(warehouse))
