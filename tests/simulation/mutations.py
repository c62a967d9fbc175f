"""Protections that can be taken back one by one: the search must find each that is missing."""

from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from typing import Any, Final

from tests.simulation.play import Plan, play
from tests.simulation.search import plans_of

_NOTHING: Final = lambda *_, **__: None  # noqa: E731 - it stands in for several functions
_MODULES_THAT_REFUSE: Final = ("write", "event_ids", "retention", "results.result_table", "results.compaction")


@dataclass(frozen=True)
class Mutation:
    """A protection, how to take it back, and the plans among which one must then fail."""

    about: str
    patches: Mapping[str, Callable[[Any], Any]]
    """By `module:attribute` a function that makes the mutated attribute of the original."""
    searches: tuple[tuple[str, str], ...]
    """Scenes and kinds of plans."""

    def apply(self) -> None:
        """Takes the protection back in this process. Raises AttributeError where it does not exist any more."""
        for path, change in self.patches.items():
            module, name = path.split(":")
            owner: Any = import_module(module)
            *outer, last = name.split(".")
            for part in outer:
                owner = getattr(owner, part)
            setattr(owner, last, change(getattr(owner, last)))


def _nothing(_: object) -> Callable[..., None]:
    return _NOTHING


def _behind(real: Callable[..., bool]) -> Callable[..., bool]:
    """A commit to the ledger after whatever came meanwhile."""

    def commit_next(ledger: Any, rows: Any) -> bool:
        if ledger._table is not None:
            ledger._table.update_incremental()
        return real(ledger, rows)

    return commit_next


def _forgetful(real: Callable[..., bool]) -> Callable[..., bool]:
    """Looks for its commit, and does not recognise it."""

    def landed(*given: Any) -> bool:
        real(*given)
        return False

    return landed


MUTATIONS: Final[Mapping[str, Mutation]] = {
    "fence of panes": Mutation(
        "a start fences panes, dead letters and event ids",
        {"pipeline.tables.housekeeping:fence": _nothing},
        (("service-start.grid", "none"), ("start-start.grid", "none")),
    ),
    "fence of results": Mutation(
        "a start fences the tables of results",
        {
            "pipeline.tables.results.result_table:Results.fence": _nothing,
            "pipeline.tables.results.publication:Publication.fence": _nothing,
        },
        (("service-start.counts", "none"), ("service-start.grid", "none")),
    ),
    "look at the fence": Mutation(
        "a writer that lost a race looks for a newer fence",
        {f"pipeline.tables.{module}:refuse_if_fenced": _nothing for module in _MODULES_THAT_REFUSE},
        (("service-start.grid", "none"), ("service-start.counts", "none")),
    ),
    "token": Mutation(
        "a writer recognises its own commit by a token",
        {"pipeline.tables.swap:_landed": _forgetful},
        (("restart.grid", "lost"), ("restart.counts", "lost")),
    ),
    "compare and swap": Mutation(
        "the ledger's commit lands only after the version that was read",
        {"pipeline.tables.ledger:Ledger.commit_next": _behind},
        (("start-start.grid", "none"), ("service-start.grid", "none")),
    ),
    "void rows": Mutation(
        "a start removes what was never committed",
        {"pipeline.tables.housekeeping:remove_void": _nothing},
        (("restart.grid", "ends"), ("service-start.grid", "ends")),
    ),
    "person erased": Mutation(
        "a publication that meets an erasure is made anew",
        {"pipeline.tables.results.result_table:ERASED_APP": lambda _: "nothing"},
        (("service-erase.mixed", "none"), ("service-erase.people", "none")),
    ),
    "failed publication": Mutation(
        "a publication that failed on the way replaces what may be there",
        {"pipeline.event_time.firing:Firing.as_refired": lambda _: lambda firing: firing},
        (("service-start.grid", "lost"), ("restart.grid", "lost")),
    ),
}
"""By name; a protection that comes with a change of the project gets a line here."""


def found(name: str) -> str:
    """Returns the sentence that reports after how many runs the search found a missing protection."""
    context = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as mutated, ProcessPoolExecutor(1, mp_context=context) as whole:
        mutated.submit(_apply, name).result()
        runs = 0
        for scene, kind in MUTATIONS[name].searches:
            for plan in mutated.submit(plans_of, scene, kind).result():
                runs += 1
                if mutated.submit(_fails, plan).result() and not whole.submit(_fails, plan).result():
                    return f"{name} ({MUTATIONS[name].about}): found after {runs} runs, by {plan}"
    return f"{name} ({MUTATIONS[name].about}): NOT FOUND in {runs} runs"


def _apply(name: str) -> None:
    MUTATIONS[name].apply()


def _fails(plan: Plan) -> bool:
    return bool(play(plan).findings)
