"""The table of the drains, with the ratios between contestants."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.table import Table

from benchmarks.contestants import Job
from benchmarks.drain import Result
from benchmarks.report import figures_table
from benchmarks.task import Reports

WRITTEN: Final = "bytes written / of fold"
"""All bytes written, divided by the bytes of the fold's own rows."""
_PEERS: Final = {
    Job.TUNED: "x tuned best",
    Job.DEFAULTS: "x default",
    Job.FLINK_SQL: "x Flink SQL",
    Job.FLINK_DATASTREAM: "x Flink DataStream",
}
"""The peers that rates are compared with, and the heads of their columns."""


def best(results: Iterable[Result], job: Job, reports: Reports = Reports.ONE) -> Result | None:
    """Returns the fastest variant of a job, None without a variant: each peer is compared at its best."""
    variants = [r for r in results if r.contestant.job is job and r.contestant.reports is reports]
    return max(variants, key=lambda r: r.rate, default=None)


def render(results: Sequence[Result], users: int) -> Table:
    """Returns a table with a row per contestant, the fastest last, and a column per peer."""
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
    """Returns our best rate over each peer's, and our rate with more reports over one report and over Flink SQL's."""
    ours = best(results, Job.OURS)
    by_peer = {job.name.lower(): ours.rate / peer.rate for job, peer in _peers(results).items()} if ours else {}
    for reports in (Reports.DEFAULT, Reports.SITE, Reports.ALL_KEYS, Reports.WITH_SITE):
        more, windows = best(results, Job.OURS, reports), best(results, Job.FLINK_SQL, reports)
        if ours and more:
            by_peer[f"{reports}_reports"] = more.rate / ours.rate
        if more and windows:
            by_peer[f"{reports}_reports_flink_sql"] = more.rate / windows.rate
    return by_peer


def cpu_ratios(results: Sequence[Result]) -> dict[str, float]:
    """Returns the CPU per event of our best variant over that of each peer's best variant."""
    ours = best(results, Job.OURS)
    return {job.name.lower(): ours.cpu_us / peer.cpu_us for job, peer in _peers(results).items()} if ours else {}


def _amplification(result: Result) -> str:
    """Returns bytes written per byte of the fold's own rows; empty for a contestant without such rows."""
    amplification = result.rounds[-1][-1].notes.get("amplification")
    return "" if amplification is None else f"{amplification:.2f}"


def _peers(results: Sequence[Result]) -> dict[Job, Result]:
    return {job: result for job in _PEERS if (result := best(results, job))}
