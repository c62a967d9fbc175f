"""Plays a transcript on the pure core alone: no Spark, no broker, no tables.

The core decides verdicts, the watermark, what fires and closes, and what a restart continues with. Plain Python does
what Spark and the engine of the tables do with these decisions. The reference model shares no code with the core, so
wherever both differ a rule of `tidemark.pipeline.event_time` is wrong.
"""

from collections.abc import Iterable
from dataclasses import replace

from tests.transcripts.core_fold import Judged, counted_in, ids_of, judged, statistics, with_duplicates
from tests.transcripts.core_tables import CoreTables
from tests.transcripts.transcript import Seen, Sent, Step, Tables, Transcript
from tests.transcripts.transcript_settings import policy_of
from tidemark.pipeline.event_time import lateness, rules, settings_change, window_states
from tidemark.pipeline.event_time.batch import EPOCH, Batch
from tidemark.pipeline.event_time.checks import Check, reason_of
from tidemark.pipeline.event_time.event_ids import RememberedIds
from tidemark.pipeline.event_time.firing import WatermarkStep
from tidemark.pipeline.event_time.malformed import MalformedLimit, MalformedShare
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.progress import Progress
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState
from tidemark.pipeline.event_time.window_states import Firings, States

_SHARE = MalformedShare(MalformedLimit(1, 1))


class CorePlayer:
    """Plays a transcript's steps. With `publishes_late` what several batches made due is published at once."""

    def __init__(self, transcript: Transcript, *, publishes_late: bool = False) -> None:
        self.transcript = transcript
        self._now: int = transcript.value("clock")
        self._publishes_late = publishes_late
        self._tables = CoreTables()
        self._unread = list[Sent]()
        self._log_ends = dict.fromkeys(range(transcript.value("partitions")), 0)
        self._stored_ids = ids_of(())
        self._remembered = RememberedIds()
        self._steps = list[WatermarkStep]()
        self._known_closed = dict[str, int]()
        self._due: Firings = {}
        policy = policy_of(transcript)
        self._policies = [policy]
        """The policy of the last epoch with a batch, and those after it."""
        partitions = {partition: PartitionState(0, self._now) for partition in self._log_ends}
        self._open(policy, Frontier(partitions), window_states.initial(policy), EPOCH)

    def play(self, step: Step) -> Seen:
        """Plays one step and returns what it led to."""
        entries = self.take(step)
        dead = [
            (entry.event.user, entry.event.event_time, reason_of(entry.check))
            for entry in entries
            if entry.check not in (Check.PASSED, Check.DUPLICATE)
        ]
        duplicates = sum(entry.check is Check.DUPLICATE for entry in entries)
        return Seen(self.watermark, self.tables, sorted(dead), duplicates)

    def take(self, step: Step) -> list[Judged]:
        """Like `play`, but returns the judged events of the step, and reads no table."""
        if step.restart:
            self._restart(self.transcript.restarted(step.changes))
        self._now += step.wait_ms
        self._unread += step.send
        for event in step.send:
            self._log_ends[event.partition] += 1
        entries = self._take() if step.reads else []
        if not step.reads:
            self._commit(*self._progress.after((), {}, self._log_ends, self._now))
        if not self._publishes_late:
            self.publish()
        return entries

    @property
    def watermark(self) -> int | None:
        """The watermark in milliseconds."""
        return self._progress.frontier.watermark

    @property
    def newest(self) -> list[int | None]:
        """The highest event time of each partition that may move the watermark."""
        return [state.max_event_time for _, state in sorted(self._progress.frontier.partitions.items())]

    @property
    def tables(self) -> Tables:
        """The whole of every table."""
        return self._tables.tables(self.transcript)

    @property
    def open_windows(self) -> dict[str, int]:
        """The number of windows that have events and are not closed, of reports whose state contains them."""
        return window_states.open_windows(self._progress.windows)

    def publish(self) -> None:
        """Publishes what is due."""
        reports = {report.name: report for report in self._progress.policy.reports}
        self._tables.publish(window_states.due(self._due), self._progress.batch_id, self.transcript, reports)
        self._due = {}

    def _take(self) -> list[Judged]:
        """Takes a batch of all unread events, by partition and offset."""
        before, policy = self._progress, self._progress.policy
        events, self._unread = sorted(self._unread, key=lambda event: event.partition), []
        entries = judged(events, policy, before.frontier.watermark, self._now)
        counted = ids_of(())
        if policy.deduplicate:
            entries, counted = with_duplicates(entries, self._remembered, _oldest_id_time(before))
        batch, after = before.after(statistics(entries, policy), self._log_ends, self._log_ends, self._now)
        for consumer in policy.consumers:
            rows = counted_in(consumer, entries, policy, before.frontier.watermark, batch.batch_id)
            self._tables.counted[consumer.name] += rows
        self._commit(batch, after)
        self._stored_ids = self._stored_ids.concat(counted)
        self._remembered = self._remembered.after(counted, _oldest_id_time(after))
        return entries

    def _commit(self, batch: Batch, after: Progress) -> None:
        self._progress = after
        if batch.is_empty:
            return
        self._policies = self._policies[-1:]
        if after.frontier.watermark not in (None, *(step.watermark for step in self._steps)):
            self._steps.append(WatermarkStep(rules.as_number(after.frontier.watermark), batch.batch_id))
        self._due = window_states.merge(self._due, batch.firings)

    def _open(self, policy: Policy, frontier: Frontier, states: States, batch_id: int) -> None:
        """Starts an epoch, and publishes again what has fired and is not final."""
        self._due, self._progress = Progress("t", policy, batch_id, frontier, states, _SHARE).at_start()
        self.publish()

    def _restart(self, transcript: Transcript) -> None:
        """Opens the next epoch as a start of the service does, from what its tables contain."""
        self.publish()
        before, frontier = self._progress.policy, self._progress.frontier
        policy = policy_of(transcript)
        names = [report.name for report in policy.reports]
        closed = settings_change.closed(before, self._known_closed, frontier.watermark, names)
        reports = tuple(replace(report, closed_before_ms=closed[report.name]) for report in policy.reports)
        self._known_closed, policy = closed, replace(policy, reports=reports)
        batch_id = (self._progress.batch_id // EPOCH + 1) * EPOCH
        self._drop([report for report in before.reports if report.name not in names], before, batch_id)
        self.transcript = transcript
        self._forget_ids(policy)
        trusted = settings_change.moves_watermark_alike(before, policy)
        partitions = {
            number: PartitionState(state.position, self._now, state.max_event_time if trusted else None)
            for number, state in frontier.partitions.items()
        }
        self._open(policy, replace(frontier, partitions=partitions), self._states(policy), batch_id)

    def _drop(self, reports: Iterable[Report], before: Policy, batch_id: int) -> None:
        """Publishes the last windows of removed reports, and closes these."""
        if not (gone := {report.name: report for report in reports}):
            return
        states = self._states(replace(before, reports=tuple(gone.values()), totals=None))
        firings, _ = window_states.at_start(states, self.watermark, batch_id)
        self._tables.publish(window_states.due(firings), batch_id, self.transcript, gone)
        for name in gone:
            self._tables.close(name, self._known_closed[name])

    def _forget_ids(self, policy: Policy) -> None:
        """Forgets the ids that were too old by the settings before, or all of them without deduplication."""
        self._policies.append(policy)
        first = self._policies[0]
        keeps = all(each.deduplicate for each in self._policies)
        since = lateness.cutoffs(first.reports, self.watermark).too_late if keeps else rules.NEVER
        self._stored_ids = self._stored_ids[self._stored_ids.time >= since]
        self._remembered = RememberedIds.of(self._stored_ids)

    def _states(self, policy: Policy) -> States:
        """Returns the states of the windows from panes, publications and watermarks."""
        published = self._tables.published
        since = min(
            (published[report.name].closed_until for report in policy.reports if report.windows.by_time),
            default=rules.NEVER,
        )
        panes = {
            report.name: {
                event.time - (event.time + report.shift_ms) % (report.pane_ms or 1)
                for event in self._tables.counted[report.name]
            }
            for report in policy.reports
        }
        steps = tuple(step for step in self._steps if step.watermark >= since)
        return window_states.restored(policy, panes, dict(published), steps)


def _oldest_id_time(progress: Progress) -> int:
    return lateness.cutoffs(progress.policy.reports, progress.frontier.watermark).too_late
