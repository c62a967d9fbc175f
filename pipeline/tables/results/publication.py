"""Publication: what is due becomes what its committed panes add up to."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from deltalake import DeltaTable

from pipeline.event_time import rules
from pipeline.event_time.firing import Firing
from pipeline.tables.results.kind import ResultKind
from pipeline.tables.results.result_table import PersonErased, Portion, Results
from pipeline.tables.schemas import PANES


class Publication:
    """One writer's view of every result table."""

    def __init__(self, warehouse: str, kinds: Iterable[ResultKind]) -> None:
        self._panes = DeltaTable(PANES.uri(warehouse))
        self._kinds = {kind.name: kind for kind in kinds}
        self._results = {name: Results(warehouse, kind.spec) for name, kind in self._kinds.items()}
        self._failed = set[str]()

    def publish(self, firings: Mapping[str, Firing], batch: int) -> None:
        """Publishes what is due of each, a pure function of panes: doing it twice is harmless.

        In one commit, or in several where it is large: only the last one says that all of it is there. Windows that
        fire for the first time are appended, with any other among them all are replaced. Raises Replaced if a newer
        service has published.
        """
        self._panes.update_incremental()
        for name, firing in firings.items():
            # Of what failed on the way some may be there.
            wanted = firing.as_refired() if name in self._failed else firing
            self._failed.add(name)
            while not self._put(name, wanted, batch):
                self._panes.update_incremental()
                wanted = firing.as_refired()
            self._failed.remove(name)

    def _put(self, name: str, firing: Firing, batch: int) -> bool:
        """Whether it is there; not where the panes that it stands on were erased meanwhile."""
        results, kind = self._results[name], self._kinds[name]
        if results.published.batch >= batch:  # another's failure had all of this batch's tried again
            return True
        results.fence(batch)
        with suppress(PersonErased):
            rest: Portion | None = None
            for portion in kind.portions(firing, batch, self._panes, results.published.batch):
                if rest:
                    results.put(*rest, batch)
                rest = portion
                del portion  # for it would be there while the next one is made
            nothing = kind.spec.schema.empty_table(), None
            results.finish(*(rest or nothing), batch, firing.closed_until, kind.marks)
            return True
        return False

    def fence(self, names: Iterable[str], batch: int) -> None:
        """An empty publication of these, after which older processes can publish them no more."""
        for name in names:
            self._results[name].close(batch, rules.NO_WATERMARK)
