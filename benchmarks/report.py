"""Figures as a table for people."""

from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table


def figures_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], words: int = 0) -> Table:
    """A table of figures; so many of the first columns are words, which begin on the left."""
    table = Table(title=title, title_justify="left")
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place < words else "right")
    for row in rows:
        table.add_row(*row)
    return table


def by_number(title: str, number: str, found: Mapping[int, Mapping[str, float]], heads: Mapping[str, str]) -> Table:
    """A row for each number, of the figures that `heads` names; seconds have three places, others none."""
    shown = [
        [f"{key:,}", *(f"{figures[name]:{'.3f' if name.endswith('seconds') else ',.0f'}}" for name in heads)]
        for key, figures in found.items()
    ]
    return figures_table(title, [number, *heads.values()], shown)
