"""Where a new warehouse begins to read, as a person writes it."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from command_line.times import instant_ms


@dataclass(frozen=True, slots=True)
class Earliest:
    """The first record that the topic still keeps."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The first record that comes after the start."""


@dataclass(frozen=True, slots=True)
class At:
    """The first record with a Kafka timestamp at or after a time, in milliseconds."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class Committed:
    """Where a consumer group left off."""

    group: str


@dataclass(frozen=True, slots=True)
class Offsets:
    """An offset for every partition."""

    by_partition: Mapping[int, int]


StartPosition = Earliest | Latest | At | Committed | Offsets


def parse_start_position(text: str) -> StartPosition:
    """`earliest`, `latest`, `timestamp:<ISO time>`, `group:<id>` or `offsets:<JSON>`.

    A time without a zone is UTC. Raises ValueError for anything else, with how to write it.
    """
    kind, _, rest = text.partition(":")
    match kind, bool(rest):
        case "earliest", False:
            return Earliest()
        case "latest", False:
            return Latest()
        case "timestamp", True:
            return At(instant_ms(rest))
        case "group", True:
            return Committed(rest)
        case "offsets", True:
            return Offsets(_by_partition(rest))
    raise ValueError(f"{text!r} is none of earliest, latest, timestamp:<ISO time>, group:<id>, offsets:<JSON>")


def _by_partition(text: str) -> dict[int, int]:
    try:
        return TypeAdapter(dict[NonNegativeInt, NonNegativeInt]).validate_json(text)
    except ValidationError as error:
        raise ValueError(f'{text!r} gives no offsets: write {{"0": 17, "1": 4}}, partition and offset') from error
