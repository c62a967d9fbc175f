"""Turns options into the immutable configuration of a run, and rejects contradictions."""

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidemark.producers.access import access_of
from tidemark.producers.broker import Target
from tidemark.producers.delivery import Delivery
from tidemark.producers.errors import SetUpError
from tidemark.producers.run import Pace
from tidemark.producers.simulate import Disorder, Site
from tidemark.producers.truth import is_truth_file


@dataclass(frozen=True)
class Plan:
    """The configuration of a run; `start_ms` is event time."""

    target: Target
    site: Site
    disorder: Disorder
    pace: Pace
    start_ms: int


@contextmanager
def as_setup_errors() -> Iterator[None]:
    """Turns a ValueError of its block into a SetUpError."""
    try:
        yield
    except ValueError as error:
        raise SetUpError(str(error)) from error


def plan(options: Namespace, now_ms: int) -> Plan:
    """Returns the configuration of the options. Raises SetUpError if they contradict each other."""
    event_rate = _event_rate(options)
    _check_name(options)
    with as_setup_errors():
        return Plan(
            target=Target(options.bootstrap_servers, options.topic, options.timeout, access_of(options)),
            site=Site(users=options.users, zipf=options.zipf, hot_share=options.hot_share, seed=options.seed),
            disorder=_disorder(options),
            pace=Pace(options.rate, options.events, options.duration, event_rate),
            start_ms=_start_ms(options, event_rate, now_ms),
        )


def _check_name(options: Namespace) -> None:
    """Raises SetUpError if a named run could not be repeated: to resume, it must make the same steps again."""
    if options.delivery is Delivery.EXACTLY_ONCE and not options.name:
        raise SetUpError("exactly-once delivery needs --name, which identifies the run's transactions")
    if options.name and (options.rate or options.start_time is None or options.event_rate is None):
        raise SetUpError("--name needs --rate 0, --event-rate and --start-time: a run by the clock cannot be repeated")


def check_truth(path: Path | None) -> None:
    """Raises SetUpError if no truth file can be written to `path`; changes nothing.

    Only an earlier truth file is replaced: as root, even the removal of a device would succeed.
    """
    if path is None:
        return
    if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        raise SetUpError(f"cannot write the truth to {path}: no such writable folder; correct --truth")
    if path.exists() and not is_truth_file(path):
        raise SetUpError(f"{path} exists and is not a truth file; choose another file with --truth")


def _disorder(options: Namespace) -> Disorder:
    return Disorder(
        jitter_ms=options.jitter,
        jitter_share=options.jitter_share,
        late_share=options.late_share,
        late_by_ms=options.late_by,
        late_after_ms=options.late_after,
        future_share=options.future_share,
        future_by_ms=options.future_by,
        malformed_share=options.malformed_share,
        malformed_kinds=options.malformed_kinds,
        duplicate_share=options.duplicate_share,
        silent_partition=options.silent_partition,
        silent_after_ms=options.silent_after,
    )


def _event_rate(options: Namespace) -> float | None:
    if options.event_rate is None and options.start_time is None:
        return None
    event_rate: float = options.rate if options.event_rate is None else options.event_rate
    if event_rate == 0:
        raise SetUpError("a backlog's event time would not advance; set --event-rate above 0")
    return event_rate


def _start_ms(options: Namespace, event_rate: float | None, now_ms: int) -> int:
    start_ms: int | None = options.start_time
    if start_ms is not None:
        return start_ms
    if event_rate is None:
        return now_ms
    if options.events is None:
        raise SetUpError("--event-rate needs --events or --start-time to compute the start")
    events: int = options.events
    return now_ms - round(events / event_rate * 1000)
