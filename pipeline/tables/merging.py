"""Merges small files: one commit removes them and adds the file with their rows.

`optimize` of delta-rs 1.6.6 lands from an outdated handle, also after another `optimize` of the same files, and then
every row occurs twice.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.pipeline.tables.file_statistics import statistics_of
from tidemark.pipeline.tables.files import files_in, read, write
from tidemark.pipeline.tables.handle import Handle


def merge_small_files(handle: Handle, file_bytes: int, many: int, *, by: int | None) -> bool:
    """Merges files smaller than `file_bytes` to files of about this size; returns False if there are less than `many`.

    Files that another commit has rewritten meanwhile are merged the next time. The table has no partitions.
    Raises what `Handle.attempt` raises.
    """
    files = statistics_of(handle.table)
    small = files.filter(pc.less(files["size_bytes"], file_bytes)).sort_by("modification_time")
    if len(small) < many:
        return False
    for group in _groups(small, file_bytes):
        gone = files_in(handle.table, group, {})
        new = write(handle.table, read(handle.table, gone), {}, data_change=False)
        handle.exchange(gone, new, by=by, data_change=False)
    return True


def _groups(files: pa.Table, file_bytes: int) -> Iterator[pa.Table]:
    """Returns groups of two or more consecutive files that have at most `file_bytes` together."""
    start, size = 0, 0
    for index, file_size in enumerate(files["size_bytes"].to_pylist()):
        if size + file_size > file_bytes:
            if index - start > 1:
                yield files.slice(start, index - start)
            start, size = index, 0
        size += file_size
    if len(files) - start > 1:
        yield files.slice(start)
