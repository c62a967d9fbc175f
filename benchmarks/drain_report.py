"""The table of the drains, with the ratios that count."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.table import Table

from benchmarks.contestants import Job
from benchmarks.drain import Result
from benchmarks.report import figures_table

WRITTEN: Final = "bytes written / of fold"
"""In all, over those of the fold's own rows."""
_PEERS: Final = {
    Job.TUNED: "x tuned best",
    Job.DEFAULTS: "x default",
    Job.FLINK_SQL: "x Flink SQL",
    Job.FLINK_DATASTREAM: "x Flink DataStream",
}
"""Whom each rate is a multiple of, and how that is called."""


def best(results: Iterable[Result], job: Job, *, all_reports: bool = False) -> Result | None:
    """The fastest of a job's variants: a peer is compared at its own best."""
    variants = [one for one in results if one.contestant.job is job and one.contestant.all_reports == all_reports]
    return max(variants, key=lambda r: r.rate, default=None)


def render(results: Sequence[Result], users: int) -> Table:
    """One row per contestant, the fastest last; a column for each peer that took part."""
    events = results[0].events
    title = f"Backlog drain of {events:,} events of {users:,} users: the last of each process's drains"
    peers = _peers(results)
    heads = ["contestant", "M events/s", *(_PEERS[job] for job in peers), "CPU us/event", WRITTEN]
    heads += ["all drains, s", "rows"]
    rows = [
        [
            result.contestant.title,
            f"{result.rate / 1e6:.3f}",
            *(f"{result.rate / peer.rate:.2f}" for peer in peers.values()),
            f"{result.cpu_us:.2f}",
            _amplification(result),
            " | ".join(" ".join(f"{drain.seconds:.1f}" for drain in drains) for drains in result.rounds),
            f"{result.rounds[-1][-1].window_rows:,}",
        ]
        for result in sorted(results, key=lambda r: r.rate)
    ]
    return figures_table(title, heads, rows, words=1)


def ratios(results: Sequence[Result]) -> dict[str, float]:
    """The rate of ours at its best over each peer's at its best; and with three reports over one."""
    ours, three = best(results, Job.OURS), best(results, Job.OURS, all_reports=True)
    found = {job.name.lower(): ours.rate / peer.rate for job, peer in _peers(results).items()} if ours else {}
    return {**found, "three_reports": three.rate / ours.rate} if ours and three else found


def cpu_ratios(results: Sequence[Result]) -> dict[str, float]:
    """The CPU per event of ours at its best over each peer's at its best."""
    ours = best(results, Job.OURS)
    return {job.name.lower(): ours.cpu_us / peer.cpu_us for job, peer in _peers(results).items()} if ours else {}


def _amplification(result: Result) -> str:
    """How many times the bytes of the fold's own rows were written in all; nothing of who has no such rows."""
    found = result.rounds[-1][-1].notes.get("amplification")
    return "" if found is None else f"{found:.2f}"


def _peers(results: Sequence[Result]) -> dict[Job, Result]:
    return {job: found for job in _PEERS if (found := best(results, job))}
