"""A warehouse of a service that was killed, which later versions continue.

`python -m tests.stored.unfinished FOLDER` makes it with the code of this version, to be packed as an archive of its
format.
"""

import sys
from typing import Final

import pyarrow as pa

from tests.simulation import events, rules, verbs
from tests.simulation.casts import Cast, Scene
from tests.simulation.events import MINUTE, NOON, Topic
from tests.simulation.rules import Rules
from tests.simulation.world import Process
from tests.simulation.writers import Stage
from tidemark.pipeline.tables.schemas import PANES

# Archives were made of these events by these settings, which therefore stay as they are.
#   epoch 1: up to 14ann; epoch 2: up to 31ann, whose batch is not published; an archive lacks the rest
_EVENTS: Final = events.events(
    "1ann 2bob 4ann 6zed 12cid 14ann 9bob 26bob 3.5zed 27cid 2.5ann 31ann 41bob 46zed 61cid 90ann"
)
TOPIC: Final[Topic] = (events.repeated(_EVENTS, 1, 9),)
RULES: Final = Rules((rules.LENIENT, rules.VISITS, rules.PAIRS), has_totals=True, deduplicates=True)


def service(warehouse: str) -> Process:
    """Returns a process of the service that has not started."""
    return Process(Stage(NOON + 31 * MINUTE), warehouse, TOPIC, RULES, has_upkeep=True)


def cast(warehouse: str) -> Cast:
    """Returns the cast of a run whose verbs are `correct`, and `erase` for the user zed."""
    process = service(warehouse)
    return Cast(Scene("stored", ("correct", "erase"), TOPIC, RULES), process.stage, warehouse, process)


def make(warehouse: str) -> None:
    """Makes the warehouse.

    It has two epochs, corrections, a batch that is committed and not published, and rows of a batch that was not
    committed.
    """
    verbs.without_spark()
    service(warehouse).open().take(6)
    process = service(warehouse).open()
    process.take(3)
    process.take(3)
    verbs.correct(warehouse, RULES)
    process.take(1, publishes=False)
    panes = process.panes._handle.table.to_pyarrow_table()
    number = process.progress.batch_id + 1
    uncommitted = panes.slice(0, 1).set_column(
        panes.schema.get_field_index("batch"), "batch", pa.array([number], pa.int64())
    )
    process.panes.append(uncommitted.select(PANES.schema.names), number)


if __name__ == "__main__":
    make(sys.argv[1])
