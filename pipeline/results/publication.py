"""Publication: windows and totals that are due are computed from committed panes and written to result tables."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from deltalake import DeltaTable

from tidemark.pipeline.event_time.firing import Firing
from tidemark.pipeline.results.applied import AppliedCorrections
from tidemark.pipeline.results.result_kind import ResultKind, SourceTables
from tidemark.pipeline.results.result_table import PublicationPlan, Results
from tidemark.pipeline.tables.handle import is_outdated
from tidemark.pipeline.tables.schemas import PANES
from tidemark.pipeline.tables.store_errors import STORE_ERRORS
from tidemark.pipeline.tables.transactions import CORRECTED_APP


class Publication:
    """One service's view of every result table."""

    def __init__(self, warehouse: str, kinds: Iterable[ResultKind[Any]]) -> None:
        self._warehouse = warehouse
        self._panes = DeltaTable(PANES.uri(warehouse))
        self._kinds = {kind.name: kind for kind in kinds}
        self._results = {name: Results(warehouse, kind.spec) for name, kind in self._kinds.items()}

    def publish(self, firings: Mapping[str, Firing], batch: int) -> None:
        """Publishes what is due, by name, from panes up to the committed `batch`; publishing twice is harmless.

        A large publication takes several commits, of which the last records it. If another commit comes first, all is
        made again from the newest table. Raises Replaced if a newer service has fenced a table.
        """
        # After the versions of the tables were taken: erasures change panes first and the tables afterwards.
        self._panes.update_incremental()
        for name, firing in firings.items():
            while not self._publish(name, firing, batch):
                self._panes.update_incremental()

    def _publish(self, name: str, firing: Firing, batch: int) -> bool:
        """Returns False if another commit was first, or an erasure deleted files that were being read."""
        results = self._results[name]
        results.handle.refuse_if_fenced(batch)  # else this publication could be skipped because of a newer service's
        if results.published.batch >= batch:  # an earlier attempt failed at another table, or landed late
            return True
        applied = AppliedCorrections(self._warehouse, results.handle.last(CORRECTED_APP))
        try:
            plan = self._kinds[name].plan(firing, batch, SourceTables(self._panes, results.handle.table, applied))
            return _commit(plan, results, firing, batch)
        except STORE_ERRORS as error:
            versions = results.handle.table.version(), self._panes.version()
            self._panes.update_incremental()
            if not is_outdated(error) or (results.handle.refresh(), self._panes.version()) == versions:
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
