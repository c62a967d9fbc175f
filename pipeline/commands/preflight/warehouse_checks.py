"""Checks of the warehouse: whether it is writable by one writer at a time, and where `run` would resume."""

from collections.abc import Callable, Iterator
from pathlib import Path

from tidemark.command_line.counts import counted
from tidemark.pipeline.commands.preflight.check_result import CheckResult, passed, warning
from tidemark.pipeline.commands.preflight.machine_checks import check_space
from tidemark.pipeline.kafka.topic import Topic
from tidemark.pipeline.results import layout
from tidemark.pipeline.service.next_epoch import next_epoch, remarks
from tidemark.pipeline.service.resources import Ground
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.secrets import pseudonyms_from
from tidemark.pipeline.tables.changed_meaning import Meaning
from tidemark.pipeline.tables.durable import local
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.probe import probe


def check_store(warehouse: str) -> Iterator[CheckResult]:
    """Checks that the warehouse is writable, and refuses the second of two writers. Raises SetUpError if not."""
    folder = local(warehouse)
    existing = warehouse if folder is None else str(_existing(folder))
    probe(existing)
    yield passed("warehouse", f"{existing} is writable, by one writer at a time")
    if folder is not None:
        yield check_space("space", _existing(folder), "warehouse")


def check_reports(settings: Settings) -> Iterator[CheckResult]:
    """Checks that the reports match their tables. Raises SetUpError if not."""
    policy = settings.policy()
    layout.check_results(settings.warehouse, policy)
    yield passed("reports", ", ".join(consumer.name for consumer in policy.consumers))
    used = {one.name for one in policy.dimensions}
    used |= {settings.site.referrer or "", settings.site.campaign} if settings.site else set()
    unused = {f"dimensions.{name}" for name in settings.dimensions.keys() - used}
    unused |= {f"measures.{name}" for name in settings.measures.keys() - {one.name for one in policy.field_measures}}
    for report in policy.reports if policy.by_arrival else ():
        if not report.windows.by_time:
            yield warning(
                "reports",
                f"{report.name} has windows of count, which depend on where batches are cut, also with time.judged = "
                '"arrival": use windows of time if the topic is read again',
            )
    for name in sorted(unused):
        yield warning("reports", f"{name} is in no report: list it in the keys or measures of one")
    if settings.site is not None and not settings.referrer:
        is_chosen = settings.site.referrer is not None
        remedy = (
            "schemas.mapping has fields of your own: set site.referrer to the field or dimension with the page "
            'before, or to "" if events have no such field'
        )
        remedy = "site.referrer is empty" if is_chosen else remedy
        result = passed if is_chosen else warning
        yield result("site", f"no report of referring hosts, because {remedy}")


def check_start(settings: Settings, topic: Topic, now: Callable[[], int]) -> Iterator[CheckResult]:
    """Checks where `run` would resume. Raises SetUpError if ledger, topic and settings do not match."""
    ledger = Ledger(settings.warehouse, mends=False)
    pseudonyms = pseudonyms_from(settings.privacy.pseudonym_key_file)
    meaning = Meaning.of(settings)
    ground = Ground(settings.warehouse, settings.policy(), topic, ledger, now, pseudonyms, meaning)
    rows = ledger.latest()
    start = next_epoch(ground, settings.kafka, rows)
    for remark in remarks(start, settings.kafka):
        yield warning("start", remark)
    ends = topic.log_ends()
    unread = sum(ends[partition] - state.position for partition, state in start.batch.after.partitions.items())
    what = (
        f"epoch {start.batch.epoch} would resume from the ledger"
        if start.earlier
        else "a new warehouse would be created"
    )
    yield passed("start", f"{what}; it would read {counted(unread, 'offset')}")


def _existing(folder: Path) -> Path:
    """Returns the folder, or its nearest existing parent; `run` would create the folders between."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
