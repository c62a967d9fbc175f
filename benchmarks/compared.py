"""Compares drains of several kinds with one base kind."""

from collections.abc import Hashable, Mapping, Sequence
from statistics import median
from typing import Any, TypeVar

from rich.table import Table

from benchmarks.report import figures_table
from benchmarks.task import Drain

_K = TypeVar("_K", bound=Hashable)


def compared(rounds: Mapping[_K, list[list[Drain]]], records: int, base: _K) -> dict[_K, dict[str, Any]]:
    """Returns, per kind and by the median of the last drains: records per second, share of the base's rate, CPU."""
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
    """Returns a table with a row per kind; `heads` name the columns kind, rate, share of the base's rate, and CPU."""
    rows = [
        [
            str(kind),
            f"{row['rate'] / 1e6:.3f}",
            f"{row['of_base']:.2f}",
            f"{row['cpu_us_per_record']:.2f}",
            " | ".join(" ".join(f"{seconds:.1f}" for seconds in drains) for drains in row["seconds"]),
        ]
        for kind, row in found.items()
    ]
    return figures_table(title, [*heads, "all drains, s"], rows, words=1)
