"""The interface of a contestant of the duel."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from benchmarks.duel.scenario import Cell, Kind


@dataclass(frozen=True, slots=True)
class Arena:
    """The topic to count, and the `folder` of the contestant, which exists."""

    bootstrap_servers: str
    topic: str
    folder: Path


class Contestant(ABC):
    """An engine that counts events per user and minute until it is killed."""

    name: ClassVar[str]
    """The name on the command line."""
    title: ClassVar[str]
    options: ClassVar[str]
    """The chosen options, which are printed with the results."""

    def __init__(self, arena: Arena) -> None:
        """Prepares nothing yet."""
        self.arena = arena

    def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Installs and compiles what the processes need. Raises SetUpError or BenchmarkError."""

    @abstractmethod
    def command(self) -> list[str]:
        """Returns the command line of a process, which continues where a killed process ended."""

    @abstractmethod
    def table(self) -> Mapping[Cell, int]:
        """Returns the events of each user and window that a reader of the result sees now."""

    @abstractmethod
    def said(self) -> Counter[Kind]:
        """Returns the number of records that the contestant reported one by one as rejected, by class."""
