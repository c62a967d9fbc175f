"""Drains of several kinds, each compared with one of them."""

from collections.abc import Hashable, Mapping, Sequence
from statistics import median
from typing import Any, TypeVar

from rich.table import Table

from benchmarks.report import figures_table
from benchmarks.task import Drain

_K = TypeVar("_K", bound=Hashable)


def compared(rounds: Mapping[_K, list[list[Drain]]], records: int, base: _K) -> dict[_K, dict[str, Any]]:
    """Of each kind, by the median of the last drains: records per second, what they are of the base's, and CPU."""
    rates = {kind: records / median(drains[-1].seconds for drains in each) for kind, each in rounds.items()}
    return {
        kind: {
            "rate": rate,
            "of_base": rate / rates[base],
            "cpu_us_per_record": median(drains[-1].cpu_seconds for drains in rounds[kind]) / records * 1e6,
            "seconds": [[drain.seconds for drain in drains] for drains in rounds[kind]],
        }
        for kind, rate in rates.items()
    }


def comparison(title: str, heads: Sequence[str], found: Mapping[_K, dict[str, Any]]) -> Table:
    """One row per kind; the heads are of the kind, the rate, what it is of the base's, and CPU."""
    rows = [
        [
            str(kind),
            f"{row['rate'] / 1e6:.3f}",
            f"{row['of_base']:.2f}",
            f"{row['cpu_us_per_record']:.2f}",
            " | ".join(" ".join(f"{one:.1f}" for one in drains) for drains in row["seconds"]),
        ]
        for kind, row in found.items()
    ]
    return figures_table(title, [*heads, "all drains, s"], rows, words=1)
