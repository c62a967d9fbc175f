"""The composition root of `producers access-log`: lines, visits, transactions, until the end or a signal."""

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, Protocol

from tidemark.command_line.counts import counted
from tidemark.command_line.printable import say
from tidemark.producers.access import access_of
from tidemark.producers.access_log.files import files_of, unread_of
from tidemark.producers.access_log.follow import Chunk, Follower
from tidemark.producers.access_log.format_check import FormatCheck
from tidemark.producers.access_log.formats import format_of
from tidemark.producers.access_log.line_metrics import LineCounts, serve
from tidemark.producers.access_log.log_position import LogPosition
from tidemark.producers.access_log.outcome import LineOutcome
from tidemark.producers.access_log.sessions import Sessions
from tidemark.producers.access_log.state import RunState, state_records
from tidemark.producers.access_log.state_topic import StateTopic
from tidemark.producers.access_log.stdin import StandardInput
from tidemark.producers.access_log.transactions import Transactions
from tidemark.producers.access_log.visits import VisitRules, Visits
from tidemark.producers.broker import Target, partitions_of_topic
from tidemark.producers.errors import SetUpError
from tidemark.producers.pseudonym import Pseudonyms
from tidemark.producers.signals import stop_on_signals

_STDIN: Final = Path("-")
_POLL_S: Final = 0.25
_NAMES_SHOWN: Final = 5


class Source(Protocol):
    """A source of lines: a log or standard input."""

    at_end: bool

    def read(self) -> Chunk | None:
        """Returns the next lines, None if there are no lines yet."""

    def close(self) -> None:
        """Closes the source."""


def execute(options: Namespace) -> str:
    """Sends visits until the end of the log or a signal, and returns the summary to print.

    Raises SetUpError if the configuration must be corrected, DeliveryError if the broker did not accept all records.
    However it ends, a run that is started again with the same name resumes where this run stopped.
    """
    began, log, name = time.monotonic(), options.log, options.name
    pseudonyms = Pseudonyms.from_file(options.salt_file)
    if log != _STDIN:
        _check_files(log)
    target = Target(options.bootstrap_servers, options.topic, options.timeout, access_of(options))
    partitions = partitions_of_topic(target, options.partitions if options.create_topic else None)
    state = StateTopic(target, options.state_topic)
    with stop_on_signals() as stopped:
        transactions = Transactions(target, partitions, name, options.compression)
        # Read after the transactions have fenced off any older process of this name.
        stored = state.read(name)
        _report_resumed(name, stored)
        sessions = Sessions(options.session_gap, stored.sessions.items())
        visits = Visits(name, _rules(options), pseudonyms, sessions, Counter(stored.counts))
        counts = LineCounts(name, stored.counts)
        if options.metrics_port:
            serve(counts, options.metrics_host, options.metrics_port)
        with closing(_source(options, stored.position)) as source:
            is_once = options.until_caught_up or log == _STDIN
            check = FormatCheck(options.format, _ignore if is_once else _report, is_first=not stored.counts)
            for chunk in _chunks(source, transactions.publisher.wait, stopped, is_once=is_once):
                before = visits.counts.copy()
                events = visits.events_from(chunk.lines)
                if check.accepts(visits.counts - before, visits.malformed):
                    records = state_records(name, chunk.position, visits.counts, sessions.changes())
                    transactions.send(events, state.topic, state.partition(name), records)
                    is_first = counts.committed == stored.counts
                    counts.committed = Counter(visits.counts)
                    if is_first and not is_once:
                        _report(f"{_summary(counts.committed - stored.counts, began, options)}. The log is followed.")
            if is_once:
                check.end()
    return _summary(counts.committed - stored.counts, began, options)


def _check_files(log: Path) -> None:
    """Reports files that look like history but are not read. Raises SetUpError if there is no file."""
    if not files_of(log):
        raise SetUpError(f"there is no file {log}; correct its path, or start the web server first")
    if unread := unread_of(log):
        names = ", ".join(unread[:_NAMES_SHOWN]) + (", ..." if unread[_NAMES_SHOWN:] else "")
        _report(f"files that are not read, because the date, count or compression in their names is unknown: {names}")


def _report_resumed(name: str, stored: RunState) -> None:
    """Reports that earlier lines are not read again, of whatever topic and log they were."""
    if stored.position:
        _report(
            f"{name} has read {counted(sum(stored.counts.values()), 'line')} and resumes after them; "
            "another --name reads the log from its start"
        )


def _report(sentence: str) -> None:
    say(f"producers: {sentence}", err=True)


def _chunks(
    source: Source, wait: Callable[[float], None], stopped: Callable[[], bool], *, is_once: bool
) -> Iterator[Chunk]:
    """Yields chunks until a signal or, if `is_once`, until the end of the source."""
    while not stopped():
        if chunk := source.read():
            yield chunk
        elif is_once and source.at_end:
            return
        else:
            wait(_POLL_S)


def _source(options: Namespace, position: LogPosition | None) -> Source:
    if options.log == _STDIN:
        return StandardInput()
    return Follower(
        options.log,
        position,
        settle_s=options.settle / 1000,
        clock=time.time,
        report=_report,
    )


def _ignore(sentence: str) -> None:
    """A run that ends by itself reports a wrong format once, as its error."""


def _rules(options: Namespace) -> VisitRules:
    return VisitRules(
        parse=format_of(options.format, options.json_fields),
        site=options.site or "",
        parameters=options.query_parameters,
        ignored=options.ignore,
        since_ms=options.since or 0,
    )


def _summary(counts: Counter[LineOutcome], began: float, options: Namespace) -> str:
    """Returns what was sent since `began`, a time of the monotonic clock."""
    total, visits = counts.total(), counts.pop(LineOutcome.VISIT, 0)
    others = ", ".join(f"{count:,} {outcome.value}" for outcome, count in counts.most_common())
    log = "standard input" if options.log == _STDIN else options.log
    seconds = time.monotonic() - began
    return (
        f"sent {counted(visits, 'visit')} to {options.topic}, of {counted(total, 'line')} of {log} in {seconds:.1f} s"
        f"{'; no visits: ' if others else ''}{others}"
    )
