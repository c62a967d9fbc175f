"""When windows were being published, so that compilations of it can be told from those of batches."""

import json
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from pipeline.tables.schemas import PAGE_VIEWS, WRITER_APP


class Span(NamedTuple):
    """[start, end) in milliseconds since the epoch."""

    start: int
    end: int

    def meets(self, other: "Span") -> bool:
        """Whether they have a moment in common."""
        return self.start < other.end and other.start < self.end


def publications(warehouse: str, ledger: pa.Table) -> list[Span]:
    """From the commit of the batch that made windows due to the version of `page_views` that shows them.

    Read from Delta's log itself: which batch a version belongs to stands nowhere else.
    """
    committed = dict(zip(ledger["batch"].to_pylist(), ledger["committed_at"].to_pylist(), strict=True))
    versions = sorted(Path(PAGE_VIEWS.uri(warehouse), "_delta_log").glob("*.json"))
    found = [_publication(version.read_text()) for version in versions]
    return [Span(committed[batch], at) for batch, at in filter(None, found) if batch in committed]


def _publication(version: str) -> tuple[int, int] | None:
    """Batch and time of a version, None if it publishes nothing."""
    actions = [json.loads(line) for line in version.splitlines()]
    batches = [a["txn"]["version"] for a in actions if a.get("txn", {}).get("appId") == WRITER_APP]
    times = [a["commitInfo"]["timestamp"] for a in actions if "commitInfo" in a]
    writes = any("add" in action for action in actions)
    return (batches[0], times[0]) if batches and times and writes else None
