"""Quix Streams as a contestant of the duel, in a virtual environment that the duel creates."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.duel.contestant import Arena, Contestant
from benchmarks.duel.scenario import PARTITIONS, Cell, Kind, kinds_of
from benchmarks.duel.topic_table import NO_LIMIT, TopicTable
from benchmarks.process import run
from demo.topics import create_topic
from tidemark.schemas import WRITER_ID, load_schemas

_PACKAGES: Final = ("quixstreams==3.28.1", "fastavro==1.13.1")


class Quix(Contestant):
    """A tumbling window with a grace period, current results to a topic."""

    name = "quix"
    title = "Quix Streams"
    options = (
        f"{_PACKAGES[0]}; exactly-once, grace 10 s, on_late and on_consumer_error callbacks, session timeout 10 s, "
        "no message.timestamp.after.max.ms on its topic; "
        "idle partitions: .current(), because .final() never closes their windows; no operator removes duplicates"
    )

    def __init__(self, arena: Arena) -> None:
        """Prepares nothing yet."""
        super().__init__(arena)
        self._output = f"{arena.topic}-output"
        self._results = TopicTable(arena.bootstrap_servers, self._output)

    def prepare(self) -> None:
        """Creates the environment, the topic of results and the file of the schema."""
        folder, log = self.arena.folder, self.arena.folder / "install.log"
        run(["venv", str(folder / "environment")], log)
        run(["pip", "install", "-q", *_PACKAGES], log, (str(self._python), "-m"))
        create_topic(self.arena.bootstrap_servers, self._output, PARTITIONS, message_timestamp_after_max_ms=NO_LIMIT)
        self._schema.write_text(load_schemas()[WRITER_ID])

    def command(self) -> list[str]:
        """Returns the job in its environment."""
        arena, job = self.arena, Path(__file__).with_name("quix_job.py")
        names = [arena.bootstrap_servers, arena.topic, self._output, str(arena.folder), str(self._schema)]
        return [str(self._python), str(job), *names]

    def table(self) -> Mapping[Cell, int]:
        """Returns the newest result of each window."""
        return self._results.counts()

    def said(self) -> Counter[Kind]:
        """Returns the records that were passed to a callback."""
        file = self.arena.folder / "rejected"
        return kinds_of(file.read_text().split() if file.exists() else ())

    @property
    def _python(self) -> Path:
        return self.arena.folder / "environment" / "bin" / "python"

    @property
    def _schema(self) -> Path:
        return self.arena.folder / "schema.avsc"
