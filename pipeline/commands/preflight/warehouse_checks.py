"""What the warehouse says: whether it can be written, by one writer at a time, and what a start would go on from."""

from collections.abc import Callable, Iterator
from pathlib import Path

from pipeline.commands.preflight.check_result import CheckResult, passed, warning
from pipeline.commands.preflight.machine_checks import room
from pipeline.kafka.topic import Topic
from pipeline.results import layout
from pipeline.service.next_epoch import next_epoch, remarks
from pipeline.service.resources import Ground
from pipeline.settings.model import Settings
from pipeline.settings.secrets import pseudonyms_from
from pipeline.tables.durable import local
from pipeline.tables.ledger import Ledger
from pipeline.tables.probe import probe


def store(warehouse: str) -> Iterator[CheckResult]:
    """Whether it can be written, and refuses the second of two writers. Raises SetUpError where not."""
    folder = local(warehouse)
    existing = warehouse if folder is None else str(_existing(folder))
    probe(existing)
    yield passed("warehouse", f"{existing} can be written, and of several writers one at a time")
    if folder is not None:
        yield room("space", _existing(folder), "warehouse")


def reports(settings: Settings) -> Iterator[CheckResult]:
    """Whether the reports are those that their tables were made for. Raises SetUpError where not."""
    policy = settings.policy()
    layout.check_results(settings.warehouse, policy)
    yield passed("reports", ", ".join(consumer.name for consumer in policy.consumers))


def start(settings: Settings, topic: Topic, now: Callable[[], int]) -> Iterator[CheckResult]:
    """Where a start would go on. Raises SetUpError where ledger, topic and settings do not fit together."""
    ledger = Ledger(settings.warehouse, mends=False)
    pseudonyms = pseudonyms_from(settings.privacy.pseudonym_key_file)
    ground = Ground(settings.warehouse, settings.policy(), topic, ledger, now, pseudonyms)
    rows = ledger.latest()
    found = next_epoch(ground, settings.kafka, rows)
    for remark in remarks(found, settings.kafka):
        yield warning("start", remark)
    ends = topic.log_ends()
    behind = sum(ends[number] - state.position for number, state in found.batch.after.partitions.items())
    what = (
        f"epoch {found.batch.epoch} would go on from the ledger" if found.earlier else "a new warehouse would be made"
    )
    yield passed("start", f"{what}; there are {behind:,} offsets to read")


def _existing(folder: Path) -> Path:
    """The folder, or what is there above it: a start would make the folders between."""
    return next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
