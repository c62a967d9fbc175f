"""Rows that wait on the disk, compressed, while further rows are made: they may not fit into memory."""

import weakref
from collections.abc import Callable, Sequence
from tempfile import TemporaryFile

import pyarrow as pa
from deltalake import Transaction

from tidemark.pipeline.tables.handle import Handle


class Spill:
    """Rows in a temporary file, which is deleted with this object or when the process ends."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._file = TemporaryFile(prefix="tidemark-")  # noqa: SIM115 - closed by the finalizer
        self._stream = pa.ipc.new_stream(self._file, schema, options=pa.ipc.IpcWriteOptions(compression="zstd"))
        weakref.finalize(self, self._file.close)

    def add(self, rows: pa.Table) -> None:
        """Appends rows to the file."""
        self._stream.write_table(rows.select(self._schema.names).cast(self._schema))

    def rows(self) -> pa.RecordBatchReader:
        """Returns a reader of all rows, valid while this object exists. No rows can be added afterwards."""
        self._stream.close()
        self._file.seek(0)
        return pa.ipc.open_stream(self._file)

    def read(self) -> pa.Table:
        """Returns all rows in memory."""
        return self.rows().read_all()

    def swap(
        self, handle: Handle, where: str | None = None, *, by: int | None, transactions: Sequence[Transaction] = ()
    ) -> bool:
        """Like `Handle.swap` with these rows."""
        return handle.swap(self.rows(), where, by=by, transactions=transactions)


def concatenated(parts: Sequence[str], rows_from: Callable[[str], pa.Table], schema: pa.Schema) -> Spill | pa.Table:
    """Returns the rows that `rows_from` computes from each part, SQL of panes; those of several wait on the disk."""
    if len(parts) == 1:
        return rows_from(*parts)
    spill = Spill(schema)
    for part in parts:
        spill.add(rows_from(part))
    return spill
