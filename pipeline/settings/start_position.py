"""Where a new warehouse starts to read, as users write it."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from tidemark.command_line.printable import quoted
from tidemark.command_line.times import instant_ms


@dataclass(frozen=True, slots=True)
class Earliest:
    """The oldest record that the topic has."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The first record written after the start of the service."""


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record with a Kafka timestamp at or after a time, in milliseconds."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """The committed offsets of a consumer group."""

    group: str


@dataclass(frozen=True, slots=True)
class Offsets:
    """An offset for every partition."""

    by_partition: Mapping[int, int]


StartPosition = Earliest | Latest | AtTime | GroupOffsets | Offsets


def parse_start_position(text: str) -> StartPosition:
    """Parses `earliest`, `latest`, `timestamp:<ISO time>`, `group:<id>` or `offsets:<JSON>`.

    A time without a zone is UTC. Raises ValueError with the allowed forms.
    """
    kind, _, rest = text.partition(":")
    match kind, bool(rest):
        case "earliest", False:
            return Earliest()
        case "latest", False:
            return Latest()
        case "timestamp", True:
            return AtTime(instant_ms(rest))
        case "group", True:
            return GroupOffsets(rest)
        case "offsets", True:
            return Offsets(_by_partition(rest))
    raise ValueError(f"{quoted(text)} is not one of earliest, latest, timestamp:<ISO time>, group:<id>, offsets:<JSON>")


def _by_partition(text: str) -> dict[int, int]:
    try:
        return TypeAdapter(dict[NonNegativeInt, NonNegativeInt]).validate_json(text)
    except ValidationError as error:
        raise ValueError(
            f'{quoted(text)} is not a map of offsets: write {{"0": 17, "1": 4}}, partition and offset'
        ) from error
