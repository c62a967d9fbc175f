"""A transcript in larger batches, and the results that may differ: verdicts of late records, and their effects.

A record is late for a report if the report was closed up to its time or further when its batch began: then windows that
it belongs to, or sessions that it meets, may have closed. A larger batch judges it by an older watermark,
so it may still be counted, never the other way round. The watermark in the end is the same, and so are all rows of keys
that had no late record, but for `late_events` and `published_batch`, which depend on batches. Beyond that:

- `sessions_begun`: a late record may take the start of a session from any row of its user.
- Count windows: no record is late for them, but those of several partitions come in another order. A key whose records
  all came on one partition has the same rows, any other as many.
- `user_totals` is written no less often, so each user's row counts no fewer records.
- Another of several records that share an id may count: an id is remembered longer if the watermark is older. Rows
  that such records are in are left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from tests.transcripts.model import Model
from tests.transcripts.transcript import Report, Row, RowKey, Sent, Step, Tables, Transcript

_Rows = Mapping[RowKey, Row]


class Watchful(Model):
    """A model that remembers by report which records were late for it."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript)
        self.late = defaultdict[str, list[Sent]](list)

    def _take(self, event: Sent) -> str:
        time = event.time(self.transcript.value("of"), self.clock)
        late = [report.name for report in self.transcript.reports if time <= self.closed_until(report)]
        reason = super()._take(event)
        for name in late if reason != "future" else ():
            self.late[name].append(event)
        return reason


@dataclass(frozen=True)
class Played:
    """A whole transcript as the model sees it."""

    model: Watchful
    dead: Sequence[tuple[str, int, str]]
    """The events that all steps rejected."""
    tables: Tables
    """The whole of every table after the last step."""


def played(transcript: Transcript) -> Played:
    """A transcript from begin to end."""
    model = Watchful(transcript)
    dead = [*chain.from_iterable(map(model.take, transcript.steps))]
    return Played(model, dead, model.tables())


def rebatched(transcript: Transcript, at_most: int) -> Transcript:
    """Merges steps that send records, up to `at_most` of them, while no time passes between them.

    A step that waits, ticks, restarts or brings a partition back from idleness starts a new batch: in a batch with the
    steps before it the partition would not have been away.
    """
    model, groups = Model(transcript), list[list[Step]]()
    for step in transcript.steps:
        still = _only_sends(step) and not _returns(step, model)
        if still and groups and len(groups[-1]) < at_most and groups[-1][0].reads:
            groups[-1].append(step)
        else:
            groups.append([step])
        model.take(step)
    return replace(transcript, steps=tuple(map(_together, groups)))


def check(transcript: Transcript, small: Played, large: Played) -> None:
    """Hold a transcript in larger batches against the rule."""
    assert large.model.watermark == small.model.watermark
    shared = _shared(_sent(transcript))
    places = {(event.user, event.event_time) for event in shared}
    _check_verdicts(
        *([rejected for rejected in played.dead if rejected[:2] not in places] for played in (small, large))
    )
    for report in small.model.transcript.every_report.values():
        less, more = (side.tables[report.name] for side in (small, large))
        if "count" in report.window:
            _check_counts(report, _sent(transcript), less, more)
        else:
            late = _keys(report, _sent(transcript), small.model.late[report.name])
            _check_windows(report, late, _keys(report, _sent(transcript), shared), (less, more))
    if totals := small.model.transcript.every_totals:
        less, more = (side.tables[totals.name] for side in (small, large))
        _check_totals(less, more, {event.user for event in shared})


def counts(tables: Tables, name: str) -> dict[RowKey, dict[str, int]]:
    """Returns the numbers that do not depend on how the records were cut into batches."""
    return {key: _counts(row) for key, row in tables[name].items()}


def _counts(row: Row) -> dict[str, int]:
    return {column: value for column, value in row.values.items() if column != "late_events"}


def _check_verdicts(small: Sequence[tuple[str, int, str]], large: Sequence[tuple[str, int, str]]) -> None:
    assert Counter(rejected for rejected in large if rejected[2] == "future") == Counter(
        rejected for rejected in small if rejected[2] == "future"
    )
    for reasons in (["too_late"], ["too_late", "partly_late"]):
        of_large, of_small = ([rejected[:2] for rejected in dead if rejected[2] in reasons] for dead in (large, small))
        assert Counter(of_large) <= Counter(of_small), reasons


def _check_windows(report: Report, late: set[RowKey], shared: set[RowKey], rows: tuple[_Rows, _Rows]) -> None:
    less, more = ({key: row for key, row in of.items() if _of(key, report) not in shared} for of in rows)
    in_time = [{key: _counts(row) for key, row in of.items() if _of(key, report) not in late} for of in (less, more)]
    assert in_time[0] == in_time[1], report.name
    # A late record may hold a session open or join two; other windows it can only fill.
    if "gap" not in report.window:
        fillable = {"page_views", "clicks", "unique_users"} & {*report.measures}
        assert all(more[key].values[name] >= row.values[name] for key, row in less.items() for name in fillable)


def _shared(sent: Sequence[Sent]) -> list[Sent]:
    """The events that have an id which another one has, too."""
    ids = Counter(event.id for event in sent if event.id)
    return [event for event in sent if ids[event.id] > 1]


def _keys(report: Report, sent: Iterable[Sent], among: Iterable[Sent]) -> set[RowKey]:
    """The keys whose rows may differ by some events."""
    mine = [event for event in among if event.meets(report.where)]
    if "sessions_begun" in report.measures:
        users = {event.user for event in mine}
        mine = [event for event in sent if event.user in users and event.meets(report.where)]
    return {report.key_of(event) for event in mine}


def _check_counts(report: Report, sent: Iterable[Sent], less: _Rows, more: _Rows) -> None:
    places = {(report.key_of(event), event.partition) for event in sent if event.meets(report.where)}
    ordered = {key for key, partitions in Counter(key for key, _ in places).items() if partitions == 1}
    small, large = (_full(report, rows) for rows in (less, more))
    assert [row for row in small if row[0] in ordered] == [row for row in large if row[0] in ordered], report.name
    assert Counter(key for key, *_ in small) == Counter(key for key, *_ in large), report.name


def _full(report: Report, rows: _Rows) -> list[tuple[RowKey, RowKey, list[int]]]:
    """Count windows without their batches: the report's keys, start and end, and what they count."""
    size = len(report.keys)
    return sorted((key[:size], key[size : size + 2], list(_counts(row).values())) for key, row in rows.items())


def _check_totals(less: _Rows, more: _Rows, shared: set[str]) -> None:
    for user, row in less.items():
        if user[0] in shared:
            continue
        old, new = row.values, more[user].values
        assert new["first_seen"] <= old["first_seen"] <= old["last_seen"] <= new["last_seen"], user
        assert all(new[name] >= old[name] for name in ("page_views", "clicks")), user


def _sent(transcript: Transcript) -> list[Sent]:
    return [event for step in transcript.steps for event in step.send]


def _of(key: RowKey, report: Report) -> RowKey:
    """The values of the report's keys in that of a row."""
    return key[: len(report.keys)]


def _only_sends(step: Step) -> bool:
    return step.reads and not step.wait_ms and not step.restart


def _returns(step: Step, model: Model) -> bool:
    return any(model.is_idle(event.partition) for event in step.send)


def _together(steps: Sequence[Step]) -> Step:
    sent: tuple[Sent, ...] = tuple(chain.from_iterable(step.send for step in steps))
    return replace(steps[0], send=sent, expected={})
