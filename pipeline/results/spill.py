"""Rows that wait on the disk, compressed, while others are made: memory may have no room for all of them."""

import weakref
from collections.abc import Callable, Sequence
from tempfile import TemporaryFile

import pyarrow as pa
from deltalake import Transaction

from pipeline.tables.handle import Handle


class Spill:
    """Rows in a file below the temporary folder, which is gone when nobody has it any more, or the process ends."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._file = TemporaryFile(prefix="tidemark-")  # noqa: SIM115 - it is closed below
        self._stream = pa.ipc.new_stream(self._file, schema, options=pa.ipc.IpcWriteOptions(compression="zstd"))
        weakref.finalize(self, self._file.close)

    def add(self, rows: pa.Table) -> None:
        """Puts further rows aside."""
        self._stream.write_table(rows.select(self._schema.names).cast(self._schema))

    def rows(self) -> pa.RecordBatchReader:
        """All of them, from the first one, as long as this is there; no more can be added then."""
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


def in_parts(parts: Sequence[str], made: Callable[[str], pa.Table], schema: pa.Schema) -> Spill | pa.Table:
    """The rows that are made of each of some statements; where there are several, what the first ones give waits."""
    if len(parts) == 1:
        return made(*parts)
    spill = Spill(schema)
    for part in parts:
        spill.add(made(part))
    return spill
