"""What is sampled of the service while it runs. Times in milliseconds since the epoch."""

import json
from dataclasses import asdict, dataclass, field
from typing import NamedTuple


class Compilations(NamedTuple):
    """How many classes Spark has compiled so far."""

    at: int
    classes: int


class Memory(NamedTuple):
    """Bytes: resident in RAM of Python and of the JVM, and in use on the JVM's heap, garbage included."""

    at: int
    python: int
    jvm: int
    heap: int


class Steps(NamedTuple):
    """From the metrics page: per step, how many there were so far and their seconds in all."""

    at: int
    steps: dict[str, tuple[float, float]]


@dataclass
class Samples:
    """All samples of a run, in order."""

    compilations: list[Compilations] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)
    steps: list[Steps] = field(default_factory=list)

    def to_json(self) -> str:
        """For the other process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Samples":
        """What `to_json` wrote."""
        found = json.loads(text)
        return cls(
            [Compilations(*sample) for sample in found["compilations"]],
            [Memory(*sample) for sample in found["memory"]],
            [Steps(*sample) for sample in found["steps"]],
        )
