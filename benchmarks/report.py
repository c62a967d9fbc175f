"""Tables of figures for the terminal."""

from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table


def figures_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], words: int = 0) -> Table:
    """Returns a table of figures; the first `words` columns are words, aligned on the left."""
    table = Table(title=title, title_justify="left")
    for index, head in enumerate(heads):
        table.add_column(head, justify="left" if index < words else "right")
    for row in rows:
        table.add_row(*row)
    return table


def by_number(title: str, number: str, found: Mapping[int, Mapping[str, float]], heads: Mapping[str, str]) -> Table:
    """Returns a table with a row for each number, with the figures in `heads`; seconds have three decimals."""
    rows = [
        [f"{key:,}", *(f"{figures[name]:{'.3f' if name.endswith('seconds') else ',.0f'}}" for name in heads)]
        for key, figures in found.items()
    ]
    return figures_table(title, [number, *heads.values()], rows)
