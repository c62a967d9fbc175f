"""Sessions and totals are what their partial sessions add up to, with compaction in between, as the model has them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tests.support.policies import policy_of
from tests.support.warehouse import milliseconds, rows, user_totals
from tests.transcripts.model import Model
from tests.transcripts.transcript import EPOCH, Row, RowKey, Sent, Step, Transcript
from tidemark.pipeline.event_time import window_states
from tidemark.pipeline.event_time.firing import Firing, TotalsDue
from tidemark.pipeline.event_time.lateness import closed_until, finals
from tidemark.pipeline.event_time.policy import Consumer, Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.windows.session import Sessions, SessionState
from tidemark.pipeline.results.applied import AppliedCorrections
from tidemark.pipeline.results.compaction import Compaction
from tidemark.pipeline.results.kind_registry import kinds_of
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.results.result_kind import SourceTables
from tidemark.pipeline.results.session_kind import SessionKind
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.large import ExecutorWrite
from tidemark.pipeline.tables.query import query
from tidemark.pipeline.tables.schemas import PANES
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.slow

GAP_MS, USERS, BATCHES = 7_000, 60, 6
COLUMNS = ("page_views", "clicks", "late_events")
NEVER = BATCHES + 1


def played(lateness_ms: int) -> Iterator[tuple[Model, int, list[Sent]]]:
    """A model after each batch, the watermark from before it, and the events that counted; some are late."""
    chance, visits = Random(lateness_ms), {"keys": ["user_id"], "window": {"gap": f"{GAP_MS}ms"}}
    settings = {"bound": "3s", "allowed_lateness": f"{lateness_ms}ms", "reports": {"visits": visits}}
    model = Model(Transcript("played", settings, ()))
    for number in range(3, 3 + BATCHES):
        before = model.watermark
        # Whole seconds, so that many are a gap apart.
        seconds = [number * 8 + chance.randrange(8) - chance.choice([0, 0, 0, 9, 16]) for _ in range(150)]
        sent = [Sent(0, f"user-{chance.randrange(USERS)}", second * 1_000) for second in seconds]
        dead = {(user, time) for user, time, _ in model.play(Step(tuple(sent), 0, {})).dead}
        yield model, before, [event for event in sent if (event.user, event.event_time) not in dead]


def partial_sessions(report: Consumer, events: Iterable[Sent], batch: int, watermark: int) -> pa.Table:
    """Returns rows of `panes` as a fold makes them: one for each user and pane."""

    def place(event: Sent) -> tuple[str, int]:
        return event.user, event.event_time // GAP_MS * GAP_MS

    found = []
    for (user, start), among in groupby(sorted(events, key=place), key=place):
        times = sorted(event.event_time for event in among)
        late = sum(time + GAP_MS <= watermark for time in times)
        counts = {"page_views": len(times), "clicks": 0, "late_events": late, "watermark": watermark, "batch": batch}
        counts |= {"closed_until": closed_until(report, watermark)}
        told = {"user_id": user, "pane_start": start, "first_time": times[0], "last_time": times[-1]}
        found.append({"report": report.name, **told, **counts})
    return pa.Table.from_pylist(found, schema=PANES.schema)


FEW_ARE_MANY = Tuning(merged_runs=2, statement_rows=50)
"""A few batches are worth a merge, and a merge takes several parts."""


class Tables:
    """Tables of reports, published and compacted as a service does it."""

    def __init__(self, warehouse: Path, policy: Policy, compact_every: int) -> None:
        create_tables(str(warehouse), policy)
        self._policy, self._panes = policy, Appender(PANES, str(warehouse))
        kinds = kinds_of(str(warehouse), policy, tuning=FEW_ARE_MANY)
        self._publication = Publication(str(warehouse), kinds)
        self._compaction, self._compact_every = Compaction(str(warehouse), kinds), compact_every

    def take(self, events: Sequence[Sent], before: int, model: Model, firings: Mapping[str, Firing]) -> None:
        """A batch, with the watermark from before it and the model after it."""
        for one in self._policy.consumers:
            self._panes.append(partial_sessions(one, events, model.batch, before), model.batch)
        self._publication.publish(firings, model.batch)
        if model.batch % self._compact_every == 0:
            for _ in self._compaction.steps(model.batch, *finals(self._policy.reports, model.watermark)):
                pass


@pytest.mark.parametrize(("lateness_ms", "compact_every"), [(0, 3), (4_000, NEVER)])
def test_sessions_are_those_of_the_model_after_every_batch(
    lateness_ms: int, compact_every: int, tmp_path: Path
) -> None:
    report = Report("visits", Sessions(GAP_MS), lateness_ms)
    tables = Tables(tmp_path, policy_of(report), compact_every)
    state = SessionState(report)
    for model, before, events in played(lateness_ms):
        firing, state = state.after_batch(window_states.moved(model.batch, {0}, before, model.watermark))
        tables.take(events, before, model, {"visits": firing})
        assert shown(tmp_path) == sorted(model._published(model.transcript.reports[0]).items())
    assert len(shown(tmp_path)) > USERS


def test_the_sql_of_sessions_returns_what_numpy_returns(tmp_path: Path) -> None:
    report = Report("visits", Sessions(GAP_MS), 4_000)
    visits, tables, state = SessionKind(report), Tables(tmp_path, policy_of(report), 2), SessionState(report)
    found = []
    for model, before, events in played(report.allowed_lateness_ms):
        firing, state = state.after_batch(window_states.moved(model.batch, {0}, before, model.watermark))
        tables.take(events, before, model, {"visits": firing})
        panes = DeltaTable(PANES.uri(str(tmp_path)))
        plan = visits.plan(firing, model.batch, SourceTables(panes, panes, AppliedCorrections("", 0)))
        (rows,) = (chunk.rows for chunk in plan.chunks)
        assert not isinstance(rows, ExecutorWrite), "nothing is large here"
        told = rows if isinstance(rows, pa.Table) else rows.rows().read_all()
        sql = visits.result_sql(visits.due_sql(firing, model.batch, Engine.DELTA_RS), Engine.DELTA_RS)
        both = [sorted(map(str, one.cast(visits.spec.schema).to_pylist())) for one in (query(sql, panes=panes), told)]
        assert both[0] == both[1]
        found += both[0]
    assert len(found) > USERS


def shown(warehouse: Path) -> list[tuple[RowKey, Row]]:
    """The published sessions."""
    return sorted(
        (
            (row["user_id"], milliseconds(row["window_start"]), milliseconds(row["window_end"])),
            Row({name: row[name] for name in COLUMNS}, row["published_batch"]),
        )
        for row in rows(warehouse, "visits")
    )


@pytest.mark.parametrize("compact_every", [NEVER, 2])
def test_totals_are_those_of_all_counted_events(compact_every: int, tmp_path: Path) -> None:
    visits, totals = Report("visits", Sessions(GAP_MS), 4_000), UserTotals(GAP_MS, 1_000)
    tables, times = Tables(tmp_path, policy_of(visits, totals=totals), compact_every), defaultdict[str, list[int]](list)
    for model, before, events in played(visits.allowed_lateness_ms):
        for event in events:
            times[event.user].append(event.event_time)
        tables.take(
            events, before, model, {totals.name: TotalsDue(is_due=True)} if model.batch % EPOCH == BATCHES else {}
        )
    assert user_totals(tmp_path) == {
        user: (min(all_of), max(all_of), sessions(all_of), len(all_of), 0) for user, all_of in times.items()
    }


def sessions(times: list[int]) -> int:
    """Returns the number of sessions."""
    return 1 + sum(later - earlier > GAP_MS for earlier, later in pairwise(sorted(times)))
