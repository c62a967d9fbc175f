"""The end of a run: services read to the end, operators repeat their verbs, and the tables must equal the model."""

from collections.abc import Iterator
from typing import Final

from tests.simulation import judge, verbs
from tests.simulation.casts import Cast
from tests.simulation.events import NOON
from tests.simulation.live_judge import LIVE, live_findings
from tests.simulation.model import Model
from tests.simulation.world import Process

_DAY_MS: Final = 86_400_000


def judged(cast: Cast, known: dict[str, list[str]]) -> Iterator[str]:
    """Lets services read to the end, operators repeat their verbs, and compares; `known` has findings by state."""
    scene, warehouse, stage = cast.scene, cast.warehouse, cast.stage
    before = list(judge.ledger_findings(warehouse))
    yield from before
    try:
        yield from _read_to_the_end(cast)
        if not scene.has & {"correct", "replay", "reset"}:
            # A verb that is repeated may repair; an erasure may be unfinished, which live views do not show.
            before += (early := _of_tables(cast, at_end=not scene.erased))
            yield from early
        for verb in _repeated(cast):
            verb()
            yield from _read_to_the_end(cast)
    except Exception as error:  # noqa: BLE001 - any error is reported
        yield f"afterwards: {type(error).__name__}: {str(error)[:200]}"
        return
    # A clock that jumps may have made everything final, so that nothing is left to lower.
    if "reset" in scene.has and not verbs.was_reset(warehouse) and stage.now < NOON + _DAY_MS:
        yield "reset-watermark: an operator cannot lower the watermark"
    state = f"in the end {judge.state_of(warehouse)}"
    if state not in known:
        known[state] = [*_of_the_end(cast)]
    yield from (finding for finding in known[state] if finding not in before)


def _read_to_the_end(cast: Cast) -> Iterator[str]:
    """Starts a service that reads to the end; yields what is wrong in live views if there were resets."""
    scene = cast.scene
    process = Process(cast.stage, cast.warehouse, scene.topic, scene.rules, has_upkeep=False).open()
    if "reset" in scene.has:
        yield from wrong_views(cast)
    while not process.is_done:
        process.take(30)


def after_a_life(cast: Cast) -> Iterator[str]:
    """Like `judged`, with one start before the verbs that the life had, and one after them.

    Windows that are published by what was added make further late events final, for which the verbs come again.
    """
    rounds = 2 if cast.scene.has & {"correct", "replay"} else 1
    try:
        yield from _read_to_the_end(cast)
        for _ in range(rounds):
            for verb in _repeated(cast):
                verb()
            yield from _read_to_the_end(cast)
    except Exception as error:  # noqa: BLE001 - any error is reported
        yield f"afterwards: {type(error).__name__}: {str(error)[:200]}"
        return
    yield from _of_the_end(cast)


def wrong_views(cast: Cast) -> list[str]:
    """Compares live views with the model before the end; corrections may then be incomplete."""
    return [] if cast.scene.has & {"correct", "replay"} else _of_tables(cast, at_end=False)


def _of_the_end(cast: Cast) -> Iterator[str]:
    """Compares the tables with the model and with what `tidemark verify` reports."""
    warehouse = cast.warehouse
    said = [*judge.ledger_findings(warehouse), *judge.void_findings(warehouse), *_of_tables(cast)]
    said += judge.person_findings(warehouse, cast.scene.erased)
    yield from said
    spoke = verbs.violations(warehouse)
    if not spoke and any(not finding.startswith(LIVE) for finding in said):
        yield "verify: silent, although the tables are wrong"
    yield from ([] if said else spoke)


def _of_tables(cast: Cast, *, at_end: bool = True) -> list[str]:
    """Compares tables and live views with the model; before the end live views alone, as erasures go on."""
    scene, warehouse = cast.scene, cast.warehouse
    known, adds = verbs.rules_by_epoch(warehouse, scene.known), ("correct" in scene.has, "replay" in scene.has)
    ledger, marks = judge.ledger_of(warehouse), verbs.marks_of(warehouse, scene.rules)
    removed = verbs.removed(warehouse, scene.rules)
    if early := [name for name, until in removed.items() if until > cast.stage.now - (scene.rules.keeps_rows_ms or 0)]:
        return [f"{name}: rows were removed that are not as old by the clock" for name in early]
    findings = list[list[str]]()
    for drops in (True, False):
        expected = Model(scene.topic, known, *adds, scene.erased, marks, drops).replay(ledger)
        tables = judge.table_findings(warehouse, expected, scene.rules, removed) if at_end else ()
        findings.append([*tables, *live_findings(warehouse, expected, removed)])
        if not findings[-1]:
            break
    return min(findings, key=len)


def _repeated(cast: Cast) -> Iterator[verbs.Verb]:
    """The verbs of a scene, which operators repeat until they report success, and at least a second start."""
    scene, warehouse = cast.scene, cast.warehouse
    yield lambda: None
    if "reset" in scene.has and not verbs.was_reset(warehouse):
        yield verbs.patiently(cast.reset_again(), may_refuse=True)
    for name in ("correct", "replay", "erase"):
        if name in scene.has:
            yield verbs.patiently(getattr(cast, f"_{name}")())
