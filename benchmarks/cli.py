"""`python -m benchmarks`: runs the chosen parts, prints their tables, stores their results."""

import sys
import tempfile
from argparse import Namespace
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from benchmarks import (
    age,
    bad,
    drain,
    drain_report,
    driver_cores,
    duplicates,
    engines,
    formats,
    micro,
    partitions,
    results,
    start,
    tabs,
    totals,
    traffic,
    users,
    versions,
    views,
    windows,
    workers,
)
from benchmarks.collect import part as collect
from benchmarks.contestants import FLINK, contestants
from benchmarks.data import DAY_S, YEAR_S, Crowd, backlog
from benchmarks.errors import BenchmarkError
from benchmarks.freshness import runs
from benchmarks.options import WITH_FLINK, parse
from benchmarks.peers.flink.cluster import require
from benchmarks.task import Drain, Task
from demo.broker import Broker
from tidemark.pipeline.errors import SetUpError

_K = TypeVar("_K", bound=Hashable)
_FAILED = 1
_SET_UP = 2


def main(arguments: Sequence[str] | None = None, folder: Path = results.RESULTS) -> int:
    """Returns 0 for success, 1 if a contestant failed or did different work, 2 for a configuration error."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    # Wide enough for all tables, even if the output is a file.
    console = Console(width=200)
    parts: dict[str, Any] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as work:
            with_flink = {"drain", "formats"} & {*options.only} and FLINK & {*options.jobs}
            if with_flink or WITH_FLINK in options.only:
                require()
            _run(options, Path(work), console, parts)
    except (BenchmarkError, SetUpError) as error:
        sys.stderr.write(f"benchmarks: {error}\n")
        return _SET_UP if isinstance(error, SetUpError) else _FAILED
    finally:
        # Results from before a failure are worth storing.
        if parts:
            console.print(f"written to {results.write(vars(options), parts, folder)}")
    return 0


def _run(options: Namespace, work: Path, console: Console, parts: dict[str, Any]) -> None:
    _run_backlogs(options, work, console, parts)
    _run_publications(options, work, console, parts)
    if "age" in options.only:
        parts["age"] = age.starts_by_age(options.ages, work)
        console.print(age.render(parts["age"]))
    if "views" in options.only:
        parts["views"] = views.views_by_rows(options.view_rows, options.looks, work)
        console.print(views.render(parts["views"]))
    if "traffic" in options.only:
        parts["traffic"] = traffic.traffic_by_rows(options.traffic_rows, options.looks, work)
        console.print(traffic.render(parts["traffic"]))
    if "tabs" in options.only:
        found = tabs.costs(options.tabs_for / 1000, work)
        parts["tabs"] = {scene: asdict(cost) for scene, cost in found.items()}
        console.print(tabs.render(found))
    if "freshness" in options.only:
        runs.freshness(options, work, console, parts)
    if WITH_FLINK in options.only:
        runs.freshness_with_flink(options, work, console, parts)
    if "collect" in options.only:
        plan = collect.Plan(options.collect_for / 1000, options.browsers, options.collect_rounds)
        parts["collect"] = collect.measure(plan, work / "collect")
        console.print(collect.render(parts["collect"], plan))


def _run_publications(options: Namespace, work: Path, console: Console, parts: dict[str, Any]) -> None:
    """Runs the parts that only write tables."""
    if "day" in options.only:
        parts["day"] = micro.day(options.day_batches, options.day_users, work)
        console.print(micro.day_table(parts["day"]))
    if "sessions" in options.only:
        parts["sessions"] = micro.sessions(options.session_batches, options.session_rows, work)
        console.print(micro.sessions_table(parts["sessions"]))
    if "totals" in options.only:
        parts["totals"] = totals.publications(options.totals_users, options.totals_came, work)
        console.print(totals.publications_table(parts["totals"]))
    if "engines" in options.only:
        parts["engines"] = engines.by_rows(options.engine_rows, work)
        console.print(engines.render(parts["engines"]))
    if "driver" in options.only:
        parts["driver"] = driver_cores.by_cores(options.driver_rows, work)
        console.print(driver_cores.render(parts["driver"]))


def _run_backlogs(options: Namespace, work: Path, console: Console, parts: dict[str, Any]) -> None:
    """Runs the parts that drain a topic."""
    of_one = {
        "growth": _growth, "windows": _windows, "workers": _workers, "duplicates": _duplicates, "versions": _versions,
        "formats": _formats,
    }  # fmt: skip
    for among in options.backlog_users if "drain" in options.only else ():
        with _backlog(options, among, work, console) as data:
            _drain(options, among, data, work, console, parts)
    if of_one.keys() & set(options.only):
        with _backlog(options, options.backlog_users[0], work, console) as data:
            for part in [part for part in of_one if part in options.only]:
                of_one[part](options, data, work, console, parts)
    if "start" in options.only:
        parts["start"] = start.starts(options.repeat or start.ROUNDS, options.keep or work / "broker", work)
        console.print(start.render(parts["start"]))
    of_their_own = {
        "windows": _windows_of_a_day, "year": _year, "bad": _bad, "partitions": _partitions, "users": _users,
    }  # fmt: skip
    for part in [part for part in of_their_own if part in options.only]:
        of_their_own[part](options, work, console, parts)


@contextmanager
def _backlog(options: Namespace, among: int, work: Path, console: Console) -> Iterator[tuple[Broker, str]]:
    console.print(f"a backlog of {options.events:,} events of {among:,} users ...")
    with backlog(options.events, options.keep or work / "broker", Crowd(among)) as data:
        yield data


def _drain(
    options: Namespace, among: int, data: tuple[Broker, str], work: Path, console: Console, parts: dict[str, Any]
) -> None:
    plan = drain.plan(options.events, among, options.drains, options.repeat)
    found: dict[str, drain.Result] = {}
    everyone = contestants(
        options.jobs, options.textbook_batches, options.our_batches, textbook_variants=options.textbook_variants
    )
    part = parts.setdefault("drain", {}).setdefault(among, {})
    for contestant, drains in drain.drain_all(plan, everyone, *data, work / f"drain-{among}"):
        result = found.setdefault(contestant.title, drain.Result(contestant, plan.events))
        result.rounds.append(drains)
        part["contestants"] = [entry.to_dict() for entry in found.values()]
        console.print(f"  {contestant.title}: {_seconds(drains)} s")
    part["ratios"] = drain_report.ratios(list(found.values()))
    part["cpu_ratios"] = drain_report.cpu_ratios(list(found.values()))
    console.print(drain_report.render(list(found.values()), among))


def _plan(options: Namespace, events: int) -> drain.Plan:
    return drain.Plan(events, options.drains or drain.DRAINS, options.repeat or 1)


def _growth(options: Namespace, data: tuple[Broker, str], work: Path, console: Console, parts: dict[str, Any]) -> None:
    parts["growth"] = micro.growth(*data, options.events, options.batches, work)
    console.print(micro.growth_table(parts["growth"], options.batches))


def _year(options: Namespace, work: Path, console: Console, parts: dict[str, Any]) -> None:
    events, crowd = options.year_events, Crowd(options.users_of_a_day)
    with backlog(events, options.keep or work / "broker", crowd, span_s=YEAR_S) as data:
        parts["year"] = micro.year(*data, events, options.year_batches, work)
    console.print(micro.year_table(parts["year"], events))


def _windows(options: Namespace, data: tuple[Broker, str], work: Path, console: Console, parts: dict[str, Any]) -> None:
    _windows_of(windows.WINDOWS, options.backlog_users[0], data, options, work, console, parts)


def _windows_of_a_day(options: Namespace, work: Path, console: Console, parts: dict[str, Any]) -> None:
    among = options.users_of_a_day
    with backlog(options.events, options.keep or work / "broker", Crowd(among), span_s=DAY_S) as data:
        _windows_of(windows.OF_A_DAY, among, data, options, work, console, parts)


def _windows_of(
    kinds: windows.Kinds, among: int, data: tuple[Broker, str], options: Namespace, work: Path, console: Console,
    parts: dict[str, Any],
) -> None:  # fmt: skip
    plan = _plan(options, options.events)
    found = users.figures(_rounds(windows.drains_by_windows(plan, *data, work, kinds), console), plan.events)
    parts.setdefault("windows", {}).update(found)
    console.print(users.render(found, plan.events, f"events of {among:,} users, one report", "windows"))


def _workers(options: Namespace, data: tuple[Broker, str], work: Path, console: Console, parts: dict[str, Any]) -> None:
    plan = _plan(options, options.events)
    rounds = _rounds(workers.drains_by_workers(plan, *data, work), console, "workers: {}")
    parts["workers"] = workers.figures(rounds, plan.events)
    console.print(workers.render(parts["workers"], plan.events))


def _duplicates(
    options: Namespace, data: tuple[Broker, str], work: Path, console: Console, parts: dict[str, Any]
) -> None:
    plan = _plan(options, options.events)
    rounds = _rounds(duplicates.drains(plan, *data, work), console, "deduplicate = {}")
    parts["duplicates"] = duplicates.figures(rounds, plan.events)
    console.print(duplicates.render(parts["duplicates"], plan.events))
    parts["look_ups"] = duplicates.look_ups(options.remembered)
    console.print(duplicates.look_ups_table(parts["look_ups"]))


def _formats(options: Namespace, data: tuple[Broker, str], work: Path, console: Console, parts: dict[str, Any]) -> None:
    plan = _plan(options, options.events)
    rounds = _rounds(formats.drains_by_format(plan, options.jobs, *data, work), console)
    parts["formats"] = formats.figures(rounds, plan.events)
    console.print(formats.render(parts["formats"], plan.events))


def _versions(
    options: Namespace, data: tuple[Broker, str], work: Path, console: Console, parts: dict[str, Any]
) -> None:
    if options.against is None:
        raise BenchmarkError("the part `versions` needs another checkout: set --against")
    broker, topic = data
    task = Task(broker.bootstrap_servers, topic, options.events, str(work))
    found = list(versions.pairs(options.against, task, options.pairs, work))
    parts["versions"] = {"drain": versions.figures(found)}
    console.print(versions.render(found, options.against, options.events))
    with backlog(start.EVENTS, work / "broker-of-starts") as (broker, topic):
        task = Task(broker.bootstrap_servers, topic, start.EVENTS, str(work))
        starts = list(versions.starts(options.against, task, options.pairs, work))
    parts["versions"]["start"] = versions.times(starts)
    console.print(versions.times_table("From a process to its first committed batch", starts))
    load = runs.load_of(options, options.users[0], options.intervals[0])
    rounds = list(versions.ages(options.against, load, options.repeat or 1, work))
    for name in ("median_ms", "p99_ms"):
        found_of = [tuple(getattr(figures, name) / 1000 for figures in pair) for pair in rounds]
        parts["versions"][name] = versions.times(found_of)
        console.print(versions.times_table(f"Freshness, {name}: {load}", found_of))


def _bad(options: Namespace, work: Path, console: Console, parts: dict[str, Any]) -> None:
    plan = _plan(options, options.bad_records)
    console.print(f"topics of {plan.events:,} records, good ones and bad ones ...")
    with backlog(plan.events, options.keep or work / "broker") as (broker, topic):
        rounds = _rounds(bad.drains_by_kind(plan, broker, topic, work), console)
    parts["bad"] = bad.figures(rounds, plan.events)
    console.print(bad.render(parts["bad"], plan.events))


def _partitions(options: Namespace, work: Path, console: Console, parts: dict[str, Any]) -> None:
    plan = drain.Plan(options.partition_events, 1, options.repeat or 1)
    data_dir, counts = options.keep or work / "broker", options.partition_counts
    found = partitions.drains_by_partitions(plan, counts, options.partition_batches, data_dir, work)
    rounds = _rounds(found, console, "{:,} partitions")
    parts["partitions"] = partitions.figures(rounds, plan.events)
    console.print(partitions.render(parts["partitions"], plan.events))


def _users(options: Namespace, work: Path, console: Console, parts: dict[str, Any]) -> None:
    plan = _plan(options, options.events)
    among = users.crowds(options.user_counts, options.unequal_users)
    found = users.drains_by_crowd(plan, among, options.keep or work / "broker", work)
    rounds = _rounds(found, console, "{} users")
    parts["users"] = users.figures(rounds, plan.events)
    title = "events by number of users, three reports"
    console.print(users.render(parts["users"], plan.events, title, "users"))


def _rounds(found: Iterable[tuple[_K, list[Drain]]], console: Console, says: str = "{}") -> dict[_K, list[list[Drain]]]:
    """Returns the drains of each kind, round by round; prints each by the format `says`."""
    rounds: dict[_K, list[list[Drain]]] = {}
    for kind, drains in found:
        rounds.setdefault(kind, []).append(drains)
        console.print(f"  {says.format(kind)}: {_seconds(drains)} s")
    return rounds


def _seconds(drains: Iterable[Drain]) -> str:
    return " ".join(f"{drain.seconds:.1f}" for drain in drains)
