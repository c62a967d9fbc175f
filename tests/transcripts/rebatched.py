"""The same transcript in larger batches, and what may differ by that: the verdicts of late records only.

A record is late for a report if the watermark had passed its time by the allowed lateness when its batch began: then
windows that it belongs to, or sessions that it meets, may have closed. A larger batch judges it by an older watermark,
so it may still be counted, never the other way round. The watermark in the end is the same, and so are all rows of keys
that had no late record, but for `late_events` and `published_batch`, which tell of batches.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from tests.transcripts.model import Model, holds
from tests.transcripts.transcript import Report, Row, RowKey, Seen, Sent, Step, Tables, Transcript


@dataclass(frozen=True)
class Played:
    """A whole transcript as the model sees it."""

    model: Model
    seen: Sequence[Seen]

    @property
    def dead(self) -> list[tuple[str, int, str]]:
        """What all steps rejected."""
        return list(chain.from_iterable(seen.dead for seen in self.seen))


def played(transcript: Transcript) -> Played:
    """A transcript from begin to end."""
    model = Model(transcript)
    return Played(model, [model.play(step) for step in transcript.steps])


def rebatched(transcript: Transcript, at_most: int) -> Transcript:
    """Steps that send become one, up to so many of them, as long as time stands still between them.

    A step that waits, ticks or restarts begins anew, and so does one that brings a partition back from idleness: in
    one batch with the steps before it the partition would not have been away.
    """
    model, groups = Model(transcript), list[list[Step]]()
    for step in transcript.steps:
        still = _only_sends(step) and not _returns(step, model)
        if still and groups and len(groups[-1]) < at_most and _reads(groups[-1][0]):
            groups[-1].append(step)
        else:
            groups.append([step])
        model.play(step)
    return replace(transcript, steps=tuple(map(_together, groups)))


def check(transcript: Transcript, small: Played, large: Played) -> None:
    """Hold a transcript in larger batches against the rule."""
    assert large.seen[-1].watermark == small.seen[-1].watermark
    _check_verdicts(small.dead, large.dead)
    for report in transcript.reports:
        less, more = (counts(one.seen[-1].tables, report.name) for one in (small, large))
        late = _late_keys(report, small.model)
        assert _without(late, less) == _without(late, more), report.name
        # A late record may hold a session open or join two; other windows it can only fill.
        if "gap" not in report.window:
            assert all(more.get(key, (0, 0)) >= row for key, row in less.items()), report.name


def counts(tables: Tables, name: str) -> dict[RowKey, tuple[int, int]]:
    """Page views and clicks: what does not depend on how the records were cut into batches."""
    return {key: _counts(row) for key, row in tables[name].items()}


def _counts(row: Row) -> tuple[int, int]:
    return row.page_views, row.clicks


def _check_verdicts(small: Sequence[tuple[str, int, str]], large: Sequence[tuple[str, int, str]]) -> None:
    assert Counter(one for one in large if one[2] == "future") == Counter(one for one in small if one[2] == "future")
    for reasons in (["too_late"], ["too_late", "partly_late"]):
        of_large, of_small = ([one[:2] for one in dead if one[2] in reasons] for dead in (large, small))
        assert Counter(of_large) <= Counter(of_small), reasons


def _late_keys(report: Report, model: Model) -> set[RowKey]:
    late = [event for event, behind_ms in model.behind if behind_ms >= report.allowed_lateness_ms]
    return {tuple(event.value(key) for key in report.keys) for event in late if holds(report.where, event)}


def _without(keys: set[RowKey], rows: dict[RowKey, tuple[int, int]]) -> dict[RowKey, tuple[int, int]]:
    return {key: row for key, row in rows.items() if key[:-2] not in keys}


def _reads(step: Step) -> bool:
    return bool(step.send) and not step.unread


def _only_sends(step: Step) -> bool:
    return _reads(step) and not step.wait_ms and not step.restart


def _returns(step: Step, model: Model) -> bool:
    return any(model.is_idle(model.partitions[event.partition]) for event in step.send)


def _together(steps: Sequence[Step]) -> Step:
    sent: tuple[Sent, ...] = tuple(chain.from_iterable(step.send for step in steps))
    return replace(steps[0], send=sent, tells={})
