"""Publication: what is due becomes what its committed panes add up to."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from deltalake import DeltaTable

from pipeline.event_time.firing import Firing
from pipeline.results.applied import Applied
from pipeline.results.result_kind import ResultKind, SourceTables
from pipeline.results.result_table import PublicationPlan, Results
from pipeline.tables.handle import is_outdated
from pipeline.tables.schemas import PANES
from pipeline.tables.store_errors import OF_THE_STORE
from pipeline.tables.transactions import CORRECTED_APP


class Publication:
    """One writer's view of every result table."""

    def __init__(self, warehouse: str, kinds: Iterable[ResultKind[Any]]) -> None:
        self._warehouse = warehouse
        self._panes = DeltaTable(PANES.uri(warehouse))
        self._kinds = {kind.name: kind for kind in kinds}
        self._results = {name: Results(warehouse, kind.spec) for name, kind in self._kinds.items()}

    def publish(self, firings: Mapping[str, Firing], batch: int) -> None:
        """Publishes what is due of each report, by name, a pure function of panes and corrections: twice is harmless.

        In one commit, or in several where it is large: only the last one records that all of it is there. Where another
        commit comes first, everything is made again from what the table has then. Raises Replaced if a newer service
        has fenced a table.
        """
        for name, firing in firings.items():
            while not self._publish(name, firing, batch):
                pass

    def _publish(self, name: str, firing: Firing, batch: int) -> bool:
        """Returns False if another commit was first, or an erasure deleted files that were being read."""
        results = self._results[name]
        results.handle.refuse_if_fenced(batch)  # else a newer service's publication would be taken for this one
        if results.published.batch >= batch:  # this attempt follows one that failed at another table, or landed late
            return True
        # After the version of the table was taken: who changes panes on purpose changes the table after them.
        self._panes.update_incremental()
        applied = Applied(self._warehouse, results.handle.last(CORRECTED_APP))
        try:
            plan = self._kinds[name].plan(firing, batch, SourceTables(self._panes, results.handle.table, applied))
            return _commit(plan, results, firing, batch)
        except OF_THE_STORE as error:
            seen = results.handle.table.version(), self._panes.version()
            self._panes.update_incremental()
            if not is_outdated(error) or (results.handle.refresh(), self._panes.version()) == seen:
                raise
            return False


def _commit(plan: PublicationPlan, results: Results, firing: Firing, batch: int) -> bool:
    """Commits the chunks of a plan, each before the next is made; False if another commit came first."""
    finish = partial(results.finish, batch=batch, closed_until=firing.closed_until, transactions=plan.transactions)
    for chunk in plan.chunks:
        if chunk.is_last:
            return finish(chunk.rows, chunk.where)
        if not results.put(chunk.rows, chunk.where, batch):
            return False
        del chunk  # else it is in memory while the next chunk is made
    return finish(results.schema.empty_table(), None)
