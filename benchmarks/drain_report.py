"""The table of the drains, with the two ratios that count."""

from collections.abc import Iterable, Sequence

from rich.table import Table

from benchmarks.contestants import Job
from benchmarks.drain import Result
from benchmarks.report import figures_table


def best(results: Iterable[Result], job: Job, *, all_reports: bool = False) -> Result | None:
    """The fastest of a job's variants: a peer is compared at its own best."""
    variants = [one for one in results if one.contestant.job is job and one.contestant.all_reports == all_reports]
    return max(variants, key=lambda r: r.rate, default=None)


def render(results: Sequence[Result]) -> Table:
    """One row per contestant, the fastest last."""
    events = results[0].events
    title = f"Backlog drain of {events:,} events: the last of each process's drains"
    heads = ["contestant", "M events/s", "x tuned best", "x default", "CPU us/event", "all drains, s", "rows"]
    tuned, defaults = best(results, Job.TUNED), best(results, Job.DEFAULTS)
    rows = [
        [
            result.contestant.title,
            f"{result.rate / 1e6:.3f}",
            _ratio(result, tuned),
            _ratio(result, defaults),
            f"{result.cpu_us:.2f}",
            " | ".join(" ".join(f"{drain.seconds:.1f}" for drain in drains) for drains in result.rounds),
            f"{result.rounds[-1][-1].window_rows:,}",
        ]
        for result in sorted(results, key=lambda r: r.rate)
    ]
    return figures_table(title, heads, rows, words=1)


def ratios(results: Sequence[Result]) -> dict[str, float]:
    """Ours at its best over each peer at its best; and with three reports over one."""
    ours, three = best(results, Job.OURS), best(results, Job.OURS, all_reports=True)
    peers = {job.name.lower(): best(results, job) for job in (Job.TUNED, Job.DEFAULTS)}
    found = {name: ours.rate / peer.rate for name, peer in peers.items() if ours and peer}
    return {**found, "three_reports": three.rate / ours.rate} if ours and three else found


def _ratio(result: Result, peer: Result | None) -> str:
    return f"{result.rate / peer.rate:.2f}" if peer else "-"
