"""Verifies a warehouse at rest: after `drain()`, after a stop, after a restart that followed a crash."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from tests.support.warehouse import table
from tidemark.pipeline.verifier.invariants import verify


@dataclass(frozen=True)
class Balance:
    """The sums over all batches, and the watermark after the last of them."""

    records: int
    counted: int
    too_late: int
    future: int
    malformed: int
    gap: int
    watermark: int | None


def violations(warehouse: Path | str) -> list[str]:
    """Verifies a warehouse; returns the sentences on violations, a few of each invariant."""
    return [violation for finding in verify(str(warehouse)).findings for violation in finding.violations]


def assert_conserved(warehouse: Path | str) -> Balance:
    """Verifies a warehouse; returns the sums, for a test that knows what they must be."""
    assert not violations(warehouse)
    ledger = table(warehouse, "ledger")
    names = ("records", "counted", "too_late", "future", "malformed", "gap")
    newest = ledger.filter(pc.equal(ledger["batch"], pc.max(ledger["batch"])))
    sums = {name: pc.sum(ledger[name]).as_py() for name in names}
    return Balance(**sums, watermark=newest["watermark"][0].as_py())
