"""Runs a collector: the composition root of `producers collect`."""

from argparse import Namespace

import click

from tidemark.command_line.printable import say
from tidemark.producers.access import access_of
from tidemark.producers.broker import Target, partitions_of_topic
from tidemark.producers.collect.app import application
from tidemark.producers.collect.intake import Intake
from tidemark.producers.collect.rates import Rates
from tidemark.producers.collect.refusals import FirstRefusals
from tidemark.producers.collect.request_metrics import Metrics
from tidemark.producers.collect.server import listener, serve, server
from tidemark.producers.collect.sink import KafkaSink
from tidemark.producers.collect.variety import Variety
from tidemark.producers.errors import DeliveryError


def _report(sentence: str) -> None:
    say(f"producers: {sentence}", err=True)


def execute(options: Namespace) -> None:
    """Serves until a signal. Raises SetUpError before that, DeliveryError after a fatal error of the Kafka client."""
    target = Target(options.bootstrap_servers, options.topic, options.timeout, access_of(options))
    partitions_of_topic(target, options.partitions if options.create_topic else None)
    with listener(options.host, options.port) as listening:
        sink = KafkaSink(target, options.pending)
        intake = Intake(
            sink,
            Rates(options.rate),
            options.allow_origin,
            Metrics(lambda: len(sink), options.pending),
            Variety(options.new_users),
            Variety(options.new_pages),
            options.max_age,
            options.keep_robots,
        )
        serving = server(application(intake, FirstRefusals(_report)), options.trust_proxy, options.timeout)
        sink.on_end = lambda: setattr(serving, "should_exit", True)
        address, port = listening.getsockname()[:2]
        click.echo(f"collecting for {target.topic} at http://{address}:{port}/events")
        serve(listening, serving)
    if sink.ended:
        raise DeliveryError(f"the Kafka client has failed ({sink.ended}); check the broker and start again")
