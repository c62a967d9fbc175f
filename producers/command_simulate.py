"""The verb `simulate`: its composition root."""

import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, assert_never

import click

from tidemark.command_line.counts import counted
from tidemark.command_line.verbs import Verb
from tidemark.producers import configure
from tidemark.producers.broker import Target, partitions_of_topic
from tidemark.producers.delivery import Delivery, DeliveryContext, Progress
from tidemark.producers.encode import ENCODERS
from tidemark.producers.errors import ProducerError
from tidemark.producers.options import simulate_options
from tidemark.producers.publish import Publisher
from tidemark.producers.run import Sending, run
from tidemark.producers.signals import stop_on_signals
from tidemark.producers.simulate import Simulator
from tidemark.producers.tally import Tally
from tidemark.producers.truth import Truth


def _execute(options: Namespace) -> str:
    """Sends until the end or a signal, writes the truth file, and returns the summary to print.

    Raises SetUpError before anything is sent, DeliveryError if not all records were acknowledged; then there is no
    truth file, because it is not known which records arrived.
    """
    plan = configure.plan(options, _now_ms())
    configure.check_truth(options.truth)
    partitions = partitions_of_topic(plan.target, options.partitions if options.create_topic else None)
    with configure.as_setup_errors():
        simulator = Simulator(plan.site, plan.disorder, plan.start_ms, partitions)
    tally = Tally(simulator.user_ids, options.truth_window)
    publisher = Publisher(plan.target, options.compression, options.delivery, options.name)
    if options.truth:
        options.truth.unlink(missing_ok=True)  # the file of an earlier run could be mistaken for this run's
    began = time.monotonic()
    with stop_on_signals() as stopped, _progress(plan.target, publisher, options) as sending:
        run(plan.pace, simulator, publisher, tally, now_ms=_now_ms, stopped=stopped, sending=sending)
        publisher.finish()
        seconds = time.monotonic() - began
        truth = tally.truth(plan.target.topic)
        _write(truth, options.truth)
    return _summary(truth.sent, seconds, plan.target.topic)


@contextmanager
def _progress(target: Target, publisher: Publisher, options: Namespace) -> Iterator[Sending]:
    """Yields how to send: from the position of earlier runs of the name, with the way to commit this run's progress."""
    encoder = ENCODERS[options.format]
    if not options.name:
        yield Sending(encoder=encoder)
        return
    with closing(Progress(target, options.name)) as progress:
        delivering = _delivering(progress, publisher, options.delivery)
        yield Sending(progress.position(), delivering, encoder)


def _delivering(progress: Progress, publisher: Publisher, delivery: Delivery) -> DeliveryContext:
    match delivery:
        case Delivery.AT_MOST_ONCE:
            return progress.commit_before
        case Delivery.AT_LEAST_ONCE:
            return progress.commit_after(publisher.finish)
        case Delivery.EXACTLY_ONCE:
            return progress.commit_within(publisher.producer)
        case _:
            assert_never(delivery)


def _write(truth: Truth, path: Path | None) -> None:
    try:
        if path:
            truth.write(path)
    except OSError as error:
        raise ProducerError(
            f"all events were sent, but the truth could not be written to {path}: {error.strerror}; "
            "free some space and repeat the run with a new topic"
        ) from error


def _summary(sent: dict[str, int], seconds: float, topic: str) -> str:
    total = sum(sent.values())
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sent.items() if count)
    return f"sent {counted(total, 'event')} to {topic} in {seconds:.1f} s ({total / seconds:.0f}/s): {kinds or 'none'}"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _simulate(**options: Any) -> int:
    click.echo(_execute(Namespace(**options)))
    return 0


simulate: Final = Verb(
    "simulate",
    callback=_simulate,
    params=simulate_options(),
    help="Simulates the users of a site and sends their events, with known disorder, until the end or Ctrl-C.",
    context_settings={"show_default": True},
    examples=[
        "producers simulate --bootstrap-servers kafka:9092 --topic events --rate 2000 --late-share 0.01",
        "producers simulate --topic events --rate 0 --events 1_000_000 --event-rate 500 --truth truth.json",
        "producers simulate --rate 0 --event-rate 500 --start-time 2024-05-01T00:00:00Z --name backfill",
        "producers simulate --topic events --create-topic --format json",
    ],
)
