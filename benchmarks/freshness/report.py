"""The tables of the freshness run."""

from rich.table import Table

from benchmarks.freshness.figures import Figures, Slice

_MB = 1_000_000
_MEDIAN_GOAL_S = 1.0
_P99_GOAL_S = 2.0


def render(figures: Figures) -> list[Table]:
    """The figures against their goals, and the run slice by slice."""
    return [_goals(figures), _slices(figures.slices)]


def _goals(figures: Figures) -> Table:
    table = Table(title=f"Freshness of {figures.records:,} records: commit less Kafka timestamp", title_justify="left")
    for name in ("figure", "measured", "goal"):
        table.add_column(name)
    median, p99 = figures.median_ms / 1000, figures.p99_ms / 1000
    with_warm_up = f"{figures.median_with_warm_up_ms / 1000:.2f} s and {figures.p99_with_warm_up_ms / 1000:.2f} s"
    table.add_row("median", f"{median:.2f} s", f"at most {_MEDIAN_GOAL_S} s")
    table.add_row("99th percentile", f"{p99:.2f} s", f"at most {_P99_GOAL_S} s")
    table.add_row("both, with the warm-up", with_warm_up, "")
    c = figures.compiled
    table.add_row(f"classes compiled outside publication, {c.batches} batches", str(c.outside), "none")
    table.add_row("batches in which that happened", str(c.batches_with_one), "none")
    table.add_row(f"classes compiled in {c.publications} publications", str(c.in_publication), "")
    return table


def _slices(slices: list[Slice]) -> Table:
    table = Table(title="Slice by slice: nothing should grow from the first warm one on", title_justify="left")
    steps = sorted({step for one in slices for step in one.steps})
    heads = ["from", "median s", "p99 s", "max s", "batches", "RSS JVM MB", "RSS Python MB", "least heap MB"]
    for name in [*heads, *(f"{step} s" for step in steps)]:
        table.add_column(name, justify="right")
    for one in slices:
        start = f"{(one.span.start - slices[0].span.start) / 1000:.0f} s{'' if one.warm else ' (cold)'}"
        ages = [f"{value / 1000:.2f}" for value in (one.median_ms, one.p99_ms, one.max_ms)]
        m = one.memory
        memory = [f"{value / _MB:.0f}" for value in (m.jvm, m.python, m.heap)] if m else ["-"] * 3
        means = [f"{one.steps[step]:.3f}" if step in one.steps else "-" for step in steps]
        table.add_row(start, *ages, str(one.batches), *memory, *means)
    return table
