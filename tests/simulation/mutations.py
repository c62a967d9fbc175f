"""Protections that can be taken back one by one: the search must find each that is missing."""

import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from typing import Any, Final

from deltalake import Transaction

from tests.simulation.play import Plan, play
from tests.simulation.search import plans_of
from tidemark.pipeline.tables.transactions import ERASED_APP


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
            owner, name, original = attribute_at(path)
            setattr(owner, name, change(original))


def attribute_at(path: str) -> tuple[Any, str, Any]:
    """Returns the owner of an attribute, its last name, and the attribute. Raises AttributeError without it."""
    module, name = path.split(":")
    owner: Any = import_module(module)
    *outer, last = name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    return owner, last, getattr(owner, last)


_NEWEST_SQL: Final = "  WHERE batch = (SELECT max(batch) FROM {ledger})\n"


def _nothing(_: object) -> Callable[..., None]:
    return lambda *_, **__: None


def _retrying(real: Callable[..., bool]) -> Callable[..., bool]:
    """A commit that also lands after commits that were not seen."""

    def attempt(handle: Any, act: Any, **how: Any) -> bool:
        return real(handle, act, **{**how, "retries": 5})

    return attempt


def _once_for_erasures(real: Callable[..., bool]) -> Callable[..., bool]:
    """A last commit of an erasure that is not repeated where another commit was first."""

    def swap(handle: Any, *rows: Any, transactions: Any = (), retries: int = 0, **how: Any) -> bool:
        landed = real(handle, *rows, transactions=transactions, retries=retries, **how)
        return landed or (retries == 0 and any(done.app_id == ERASED_APP for done in transactions))

    return swap


def _forgetful(real: Callable[..., bool]) -> Callable[..., bool]:
    """A look for the writer's own commit that does not recognise it."""
    return lambda handle, seen, _, error: real(handle, seen, "another token", error)


def _late_reader(real: Callable[..., bool]) -> Callable[..., bool]:
    """A commit to the ledger after whatever came meanwhile."""

    def commit_next(ledger: Any, rows: Any) -> bool:
        if ledger._handle is not None:
            ledger._handle.refresh()
        return real(ledger, rows)

    return commit_next


def _careless(_: object) -> Callable[..., bool]:
    """A merge that does not look whether its files are part of the table still."""

    def exchange(handle: Any, gone: Any, new: Any, *, data_change: bool = True, **how: Any) -> bool:
        actions = [*gone.remove_actions(data_change=data_change), *new]
        while not handle.commit(actions, **how):
            pass
        return True

    return exchange


def _alone(real: Callable[..., Transaction]) -> Callable[..., Transaction]:
    """A transaction that excludes no other amender."""
    return lambda handle: Transaction(f"alone-{uuid.uuid4().hex}", real(handle).version)


def _nameless(real: Callable[..., Any]) -> Callable[..., Any]:
    """An opening that does not name its process."""
    return lambda resources, kafka, rows, _: real(resources, kafka, rows, "nobody")


def _as_they_were(real: Callable[..., None]) -> Callable[..., None]:
    """Rows that are merged keep the lowest time until which their parts had closed."""

    def make(sessions: Any, rows: Any, *how: Any, **more: Any) -> None:
        real(sessions, rows, *how, **more)
        sessions._rows = rows

    return make


def _of_the_first(real: Any) -> Any:
    """The tables as they were when a process first asked for them."""
    return type("Once", (), {"of": staticmethod(cache(real.of))})


def _uncertain(_: object) -> Callable[..., int | None]:
    """The watermark of now, which may be taken back."""
    return lambda frontier, *_: frontier.watermark


MUTATIONS: Final[Mapping[str, Mutation]] = {
    "fence": Mutation(
        "a start fences every table",
        {"tidemark.pipeline.tables.handle:Handle.fence": _nothing},
        (("service-start.grid", "none"), ("service-start.counts", "none")),
    ),
    "look at the fence": Mutation(
        "a handle's version is looked at for a newer fence before it commits",
        {"tidemark.pipeline.tables.handle:refuse_if_fenced": _nothing},
        (("start-start.grid", "none"), ("service-start.grid", "none")),
    ),
    "fence of 0.1.0": Mutation(
        "a fence of version 0.1.0 is a fence",
        {"tidemark.pipeline.tables.fencing:FENCED_BY_0_1_0_APP": lambda _: "no such fence"},
        (("start-old_start.grid", "none"),),
    ),
    "next version": Mutation(
        "a commit lands at the version after the one it was computed from",
        {"tidemark.pipeline.tables.handle:Handle.attempt": _retrying},
        (("service-start.counts", "none"), ("start-start.grid", "none")),
    ),
    "token": Mutation(
        "a writer recognises its own commit by a token",
        {"tidemark.pipeline.tables.handle:Handle._has_landed": _forgetful},
        (("restart.grid", "lost"), ("service-start.counts", "lost")),
    ),
    "ledger": Mutation(
        "the ledger's commit lands only after the version that was read",
        {"tidemark.pipeline.tables.ledger:Ledger.commit_next": _late_reader},
        (("start-start.grid", "none"), ("service-start.grid", "none")),
    ),
    "own process": Mutation(
        "a process recognises the epoch that it opened itself",
        {"tidemark.pipeline.service.recovery:next_epoch": _nameless},
        (("restart.counts", "late"),),
    ),
    "uncommitted rows": Mutation(
        "a start removes what was never committed",
        {"tidemark.pipeline.tables.housekeeping:remove_uncommitted": _nothing},
        (("restart.grid", "ends"), ("service-start.grid", "ends")),
    ),
    "files of a merge": Mutation(
        "a merge lands only while its files are part of the table",
        {"tidemark.pipeline.tables.handle:Handle.exchange": _careless},
        (("start-start.grid", "none"), ("service-start.grid", "none"), ("lagging-erase.crowd_people", "none")),
    ),
    "amending": Mutation(
        "verbs and retention exclude one another",
        {"tidemark.pipeline.tables.handle:Handle.amending": _alone},
        (("correct-correct.mixed", "none"), ("correct-age.aged", "none"), ("correct-erase.visits", "none")),
    ),
    "certain watermark": Mutation(
        "upkeep does not rely on a watermark that is ahead of the clock",
        {"tidemark.pipeline.service.maintenance:certain_watermark": _uncertain},
        (("reset-start.wrong", "none"), ("reset-start.wrong_visits", "none")),
    ),
    "parts of a session": Mutation(
        "a session that is merged joins what each of its events joined",
        {"tidemark.pipeline.results.partial_sessions:PartialSessions.__init__": _as_they_were},
        (("behind-start.steps", "none"),),
    ),
    "certain start": Mutation(
        "a start forgets no ids by a watermark that may be taken back",
        {"tidemark.pipeline.service.next_epoch:certain_watermark": _uncertain},
        (("start-reset.ended_twice", "none"), ("start-reset.wrong_twice", "none")),
    ),
    "dropped panes": Mutation(
        "a start opens no window of a report whose panes were dropped",
        {"tidemark.pipeline.results.missing_panes:DROPPED_APP": lambda _: "no such mark:"},
        (("other_start-reset-start.without_visits", "none"), ("reset-other_start-start.without_visits", "none")),
    ),
    "corrected sessions": Mutation(
        "a reset opens no session that a correction joined",
        {"tidemark.pipeline.amend.watermark_reset:_latest_corrected": lambda _: lambda *_: 0},
        (("correct-reset.wrong_visits", "none"), ("reset-correct.wrong_visits", "ends")),
    ),
    # With `retries` it would be as safe: delta-rs refuses it after a commit that added rows which it might remove, and
    # its condition compares hashes, which the statistics of no file exclude.
    "last commit of an erasure": Mutation(
        "an erasure's last commit of a report lands after all publications of older panes, or is computed again",
        {"tidemark.pipeline.tables.handle:Handle.swap": _once_for_erasures},
        (("service-erase.crowd", "two"),),
    ),
    "watermark of now": Mutation(
        "a live view uses the watermark of the newest batch, which a reset may have lowered",
        {"tidemark.pipeline.results.live_view:_LIVE_SQL": lambda sql: sql.replace(_NEWEST_SQL, "")},
        (("reset-start.wrong", "none"), ("reset-start.ended", "none")),
    ),
    "reports of now": Mutation(
        "an erasure looks for reports again in each pass",
        {"tidemark.pipeline.amend.erase.erasure:PersonalTables": _of_the_first},
        (("erase-other_start.more_crowd", "none"),),
    ),
    "read again": Mutation(
        "verify reads again what others have changed meanwhile",
        {
            f"tidemark.pipeline.verifier.invariants:{most}": lambda _: 1
            for most in ("_MOST_READS", "_MOST_READS_OF_FILES")
        },
        (("verify-erase.mixed", "none"), ("verify-correct.mixed", "none")),
    ),
}
"""Mutations by name; each new protection of the project gets a line in this table."""


def mutation_summary(name: str) -> str:
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
