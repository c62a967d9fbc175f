"""One dead letter, opened: why it was rejected, and its fields as far as they can be read."""

from typing import Final

from rich.console import Console
from rich.table import Table

from pipeline.commands.dead_letters.letters import letters, shown
from pipeline.commands.decoded import decoded
from pipeline.errors import SetUpError
from pipeline.settings.load import require
from pipeline.settings.model import Settings
from pipeline.tables.event_schemas import schemas_of

_ONE: Final = "SELECT * FROM dead WHERE {those}"


def print_opened(settings: Settings, partition: int, offset: int) -> None:
    """Prints it. Raises SetUpError where there is none at this place."""
    require(settings, "warehouse")
    found = letters(_ONE, settings.warehouse, more=f'"partition" = {partition} AND "offset" = {offset}')
    if not found:
        raise SetUpError(
            f"there is no dead letter at offset {offset} of partition {partition}: "
            "`tidemark dead-letters list` names some that there are"
        )
    letter = found[0]
    value = decoded(letter["value"], schemas_of(settings).texts)
    table = Table("what", "it says", title=f"{letter['reason']}: {letter['detail']}")
    told = {
        "taken by Kafka": shown(letter["kafka_timestamp"]),
        "watermark then": shown(letter["watermark"]),
        "batch": letter["batch"],
        "key": letter["key"],
        "bytes": value.size,
        "value": value.sentence,
        **dict(value.fields),
        "text": value.text,
    }
    for name, what in told.items():
        if what is not None:
            table.add_row(name, str(what))
    if not value.fields and value.bytes:
        table.add_row("begins with", value.bytes)
    Console().print(table)
