"""Equal warehouses in pairs, made once; a test changes one of them and takes the change back."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.verify.conftest import play
from tests.verify.plant import Rows, alter
from tests.verify.site import GROWING, LAST_THREE, OF_ONE_USER, POLICY, REPORTS, TIMED, Event, Site

ALL_REPORTS = (*REPORTS, *TIMED, GROWING, LAST_THREE, OF_ONE_USER)
Pair = tuple[Path, Path]
PairOf = Callable[[str], Pair]
Changed = Callable[[Pair, str, Callable[[Rows], Rows]], AbstractContextManager[None]]


@pytest.fixture(scope="session")
def pair_of(tmp_path_factory: pytest.TempPathFactory) -> PairOf:
    """Returns two warehouses of the same events in the same batches, made at the first call.

    They have one report with windows in every state; as `user_totals` or `dead_letters` with totals, as `all` all
    reports.
    """
    made: dict[str, Pair] = {}

    def make(name: str) -> Pair:
        if name not in made:
            found = tuple(report for report in ALL_REPORTS if name in (report.name, "all"))
            totals = None if found and name != "all" else POLICY.totals
            policy = replace(POLICY, reports=found or REPORTS[:1], totals=totals)
            folder = tmp_path_factory.mktemp(name)
            made[name] = folder / "one", folder / "other"
            for place in made[name]:
                play(Site(place, policy).open()).batch(Event(58, "eve"), Event(63.5, "eve"))
        return made[name]

    return make


@pytest.fixture
def changed() -> Changed:
    """Returns a context in which a table of the second warehouse of a pair is rewritten."""

    @contextmanager
    def change(pair: Pair, table: str, how: Callable[[Rows], Rows]) -> Iterator[None]:
        version = DeltaTable(str(pair[1] / table)).version()
        alter(pair[1], table, how)
        try:
            yield
        finally:
            DeltaTable(str(pair[1] / table)).restore(version)

    return change
