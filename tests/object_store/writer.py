"""A writer in a process of its own, which commits to a table: a line of JSON in, a line out."""

import json
import sys

import pyarrow as pa

from tidemark.pipeline.errors import Replaced
from tidemark.pipeline.tables.files import files_of, read, write
from tidemark.pipeline.tables.handle import Handle

ROWS = pa.table({"user": ["ann", "bob"], "number": pa.array([1, 2], pa.int64())})


def act(uri: str, how: str, batch: int) -> str:
    """Commits until it has landed; returns `landed`, `put off` or `replaced`."""
    handle = Handle(uri)
    try:
        if how == "fence":
            handle.fence(batch)
        elif how == "merge":
            gone = files_of(handle.table, {})
            new = write(handle.table, read(handle.table, gone), {}, data_change=False)
            if not handle.exchange(gone, new, by=batch, data_change=False):
                return "put off"
        elif how == "replace":
            while not handle.swap(ROWS.slice(0, 1), "number = 1", by=batch):
                pass
        else:
            while not handle.swap(ROWS, by=batch):
                pass
    except Replaced:
        return "replaced"
    return "landed"


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(act(**json.loads(line)) + "\n")
        sys.stdout.flush()
