"""A transcript through the loop that production runs: batches are cut as they come, and ticks fall in between.

Only the ledger stores the cuts. So the model plays the batches of the ledger, one by one, and returns the expected
tables.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from tests.support import warehouse as tables
from tests.support.kafka_cluster import Cluster
from tests.support.services import Clock, running
from tests.support.waiting import wait_for
from tests.transcripts.model import Model
from tests.transcripts.stage import published_tables, put, settings_for
from tests.transcripts.transcript import EPOCH, Row, RowKey, Step, Transcript
from tests.transcripts.windows import NONE
from tidemark.pipeline.app import open_service
from tidemark.pipeline.service.runner import RunningService
from tidemark.pipeline.tuning import Tuning

PATIENCE_S = 120


class BusyClock(Clock):
    """A clock that does something when it is asked, which the service does in the midst of a batch or tick.

    So what is done then comes between two of them: neither sees a half of it. Who asked gets the time of before.
    """

    def __init__(self, now_ms: int) -> None:
        super().__init__(now_ms)
        self._task: Callable[[], None] | None = None

    def __call__(self) -> int:
        now, task, self._task = self.now_ms, self._task, None
        if task:
            task()
        return now

    def when_asked(self, task: Callable[[], None]) -> None:
        """Do it once."""
        self._task = task


_TUNING: Final = Tuning(upkeep_batches=3, merged_runs=2)
"""Panes are merged several times in a life."""


class Loop:
    """A topic, a warehouse, the lives of a service on them, and the model."""

    def __init__(self, transcript: Transcript, broker: Cluster, topic: str, warehouse: Path, max_records: int) -> None:
        self._broker, self._topic, self._warehouse = broker, topic, warehouse
        self._clock = BusyClock(transcript.value("clock"))
        self._sent = dict.fromkeys(range(transcript.value("partitions")), 0)
        self._cut: dict[str, Any] = {"interval": "0ms", "max_records": max_records}
        self._dead = list[tuple[str, int, str]]()
        self._totals: list[dict[RowKey, Row]] = [{}]
        """Totals may be any of these: they are written with all events up to their turn."""
        self.model = Model(transcript)

    def live(self, steps: Sequence[Step], *, in_haste: bool) -> None:
        """Steps up to a restart. In haste the service is stopped as soon as the last records are on the topic."""
        more = {"time": {"interval": "50ms"}, "batch": self._cut}
        settings = settings_for(self.model.transcript, self._broker, self._topic, self._warehouse, **more)
        with open_service(settings, now=self._clock, tuning=_TUNING) as service, running(service) as is_alive:
            self._read_on(service, is_alive)
            for number, step in enumerate(steps, 1):
                self._do(step, service)
                if number < len(steps) or not in_haste:
                    self._read_on(service, is_alive)
        self._follow()
        self._check()

    def restart(self, step: Step) -> None:
        """The next life uses the settings of this step."""
        self.model.restart(step)
        if totals := self.model.transcript.totals:
            self._totals = [self.model.totals[totals.name]]

    def _do(self, step: Step, service: RunningService) -> None:
        def happen() -> None:
            self._clock.move(step.wait_ms)
            put(step.send, self._broker, self._topic, as_json=self.model.transcript.has_other_kinds)

        self._clock.when_asked(happen)
        service.tick()
        self.model.arrive(step)
        for event in step.send:
            self._sent[event.partition] += 1

    def _read_on(self, service: RunningService, is_alive: Callable[[], bool]) -> None:
        """Waits until all is read, and lets time alone have its effect."""
        wait_for(lambda: self._is_read() or not is_alive(), PATIENCE_S, "reading on")
        service.tick()
        self._follow()
        # All that this time of the clock can do has been done.
        self.model.take(Step((), 0, {}))
        watermark = tables.latest_batch(self._warehouse)[0]["watermark"]
        assert self.model.watermark == (NONE if watermark is None else watermark)

    def _is_read(self) -> bool:
        return {row["partition"]: row["to_offset"] for row in tables.latest_batch(self._warehouse)} == self._sent

    def _follow(self) -> None:
        """Lets the model play the batches that it has not played yet; one without records is a tick."""
        rows = [row for row in tables.rows(self._warehouse, "ledger") if row["batch"] % EPOCH]
        rows = sorted((row for row in rows if row["batch"] > self.model.batch), key=lambda row: int(row["batch"]))
        for batch, found in groupby(rows, lambda row: int(row["batch"])):
            self._play({row["partition"]: row["to_offset"] - row["from_offset"] for row in found})
            assert self.model.batch == batch

    def _play(self, cut: dict[int, int]) -> None:
        totals, before = self.model.transcript.totals, dict(self.model.totals)
        self._dead += self.model.take(Step((), 0, {}, cut=cut if any(cut.values()) else None))
        if totals:
            written = self.model.totals[totals.name] is not before.get(totals.name)
            now = self.model.totals_of(totals)
            self._totals = [now] if written else [*self._totals, now]

    def _check(self) -> None:
        """Holds all tables against the model."""
        transcript, expected = self.model.transcript, self.model.tables()
        found = published_tables(transcript, self._warehouse)
        for name in transcript.every_report:
            assert found[name] == expected[name], name
        if totals := transcript.every_totals:
            assert found[totals.name] in self._totals
        dead = [
            (row["user_id"], row["event_time"], row["reason"]) for row in tables.rows(self._warehouse, "dead_letters")
        ]
        assert sorted(dead) == sorted(self._dead)
        assert sum(row["duplicate"] for row in tables.rows(self._warehouse, "ledger")) == self.model.duplicates


def lives_of(transcript: Transcript) -> list[list[Step]]:
    """The steps of each life; every one but the first begins with that of its restart."""
    lives = list[list[Step]]()
    for step in transcript.steps:
        if step.restart or not lives:
            lives.append([])
        lives[-1].append(step)
    return lives
