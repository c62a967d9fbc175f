"""The scenes: which writers run against each other, over which events, by which settings."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from tests.simulation import events, rules
from tests.simulation.casts import Scene
from tests.simulation.events import Topic
from tests.simulation.rules import Rules

_WRONG: Final[Topic] = (
    events.events(
        "1ann 2bob 11bob 12ann 24cid 23bob 500wrong* 24.5ann 25dan 22ann 26cid 31ann 33cid 41bob 61cid 63ann 90cid"
    ),
)
"""A wrong clock takes the watermark to minute 500, while events of minute 22 and later come."""
_BACKFILL: Final[Topic] = (
    events.events("1ann 2bob 16bob 3dan 24cid 23bob 24.5ann 22dan 31ann 33cid 41bob 61cid 90cid"),
)
"""The input ends after minute 24, one event of which was too late, and then more of it comes."""
_STEPS: Final[Topic] = (
    events.events("0ann 0.2bob 0.4cid 5ann 5.1bob 5.2cid 2ann 5.3dan 5.4eve 14bob 14.1cid 14.2dan 40bob 41cid"),
)
"""An event of minute 2 comes when a session of the same user has closed before it and another one goes on after it."""

_KINDS: Final[Mapping[str, tuple[Topic, Rules]]] = {
    "grid": (events.ORDERED, rules.GRID),
    "slides": (events.LATE, rules.SLIDES),
    "sessions": (events.LATE, rules.SESSIONS),
    "counts": (events.ORDERED, rules.COUNTS),
    "last": (events.ORDERED, rules.LAST_ONES),
    "totals": (events.ORDERED, rules.TOTALS),
    "unique": (events.PARTS, rules.UNIQUE),
    "mixed": (events.MIXED, rules.GRID),
    "visits": (events.MIXED, rules.SESSIONS),
    "people": (events.MIXED, rules.TOTALS),
    "crowd": (events.CROWD, rules.GRID),
    "crowd_visits": (events.CROWD, rules.SESSIONS),
    "crowd_people": (events.CROWD, rules.TOTALS),
    "crowd_pairs": (events.CROWD, rules.COUNTS),
    "crowd_last": (events.CROWD, rules.LAST_ONES),
    "aged": (events.MIXED, rules.AGED),
    "wrong": (_WRONG, rules.GRID),
    "wrong_visits": (_WRONG, rules.SESSIONS),
    "wrong_pairs": (_WRONG, rules.COUNTS),
    "wrong_people": (_WRONG, rules.TOTALS),
    "wrong_twice": ((events.repeated(_WRONG[0], 4, 11),), rules.UNIQUE),
    "wrong_aged": (_WRONG, rules.AGED),
    "steps": (_STEPS, rules.SESSIONS),
    "ended": (_BACKFILL, rules.GRID),
    "ended_visits": (_BACKFILL, rules.SESSIONS),
    "ended_twice": ((events.repeated(_BACKFILL[0], 4, 8),), rules.UNIQUE),
    "long": (events.WHOLE_VISIT, rules.SESSIONS),
}
"""Events and settings by a word."""


_BOTH: Final = replace(rules.GRID, shapes=(rules.VIEWS, rules.PAIRS))
_CHANGES: Final[Mapping[str, tuple[Rules, Rules, str]]] = {
    "more": (rules.GRID, _BOTH, "grid"),
    "fewer": (_BOTH, rules.GRID, "grid"),
    "counts_once": (replace(rules.UNIQUE, deduplicates=False), rules.UNIQUE, "unique"),
    "counts_again": (rules.UNIQUE, replace(rules.UNIQUE, deduplicates=False), "unique"),
    "adds_up": (rules.GRID, rules.TOTALS, "totals"),
    "adds_up_no_more": (rules.TOTALS, rules.GRID, "totals"),
}
"""Settings before and after a change of settings, and events, by a word."""


_PAIRS: Final = (
    ("correct", "erase", "mixed"),
    ("correct", "erase", "visits"),
    ("replay", "erase", "mixed"),
    ("correct", "replay", "mixed"),
    ("correct", "age", "aged"),
    ("erase", "age", "aged"),
    ("correct", "reset", "wrong"),
    ("correct", "reset", "wrong_visits"),
    ("correct", "reset", "wrong_people"),
    ("erase", "reset", "wrong"),
    ("ahead", "reset", "wrong_visits"),
    ("ahead", "reset", "wrong_twice"),
    ("behind", "reset", "wrong_visits"),
    ("behind", "start", "wrong_twice"),
    ("ahead", "start", "wrong_twice"),
    ("lagging", "erase", "crowd"),
    ("lagging", "erase", "crowd_visits"),
    ("lagging", "erase", "crowd_people"),
    ("lagging", "erase", "crowd_pairs"),
    ("lagging", "erase", "crowd_last"),
    ("lagging", "correct", "visits"),
    ("verify", "erase", "mixed"),
    ("verify", "correct", "mixed"),
    ("verify", "reset", "wrong"),
)
"""Two writers, in both orders, over some events."""


def _scene(writers: str, kind: str, **more: object) -> Scene:
    topic, settings = _KINDS[kind]
    return replace(Scene(f"{writers}.{kind}", tuple(writers.split("-")), topic, settings), **more)  # type: ignore[arg-type]


def _all() -> Iterator[Scene]:
    for kind in ("grid", "sessions", "counts", "last", "totals", "unique"):
        yield from (_scene(pair, kind) for pair in ("start-start", "start-service", "service-start", "restart"))
        yield _scene("start-start-start", kind, batches=-1, waiting=0)
    for kind in ("long", "counts", "grid"):
        yield from (
            _scene(pair, kind, threads=True) for pair in ("loop-publisher-publisher", "publisher-loop-publisher")
        )
    for change in _CHANGES:
        # Where windows have a lateness, the first late event comes in the fourth batch.
        batches = 3 if change in ("counts_once", "counts_again") else 2
        for pair in ("start-other_start", "other_start-start", "service-other_start", "other_start-service"):
            yield _changing(pair, change)
        for verb in ("correct", "erase", "replay", "verify"):
            yield _changing(f"{verb}-other_start", change, "mixed", batches=batches)
            yield _changing(f"other_start-{verb}", change, "mixed", batches=batches)
    yield _changing("erase-other_start", "more", "crowd", batches=2)
    for three in ("other_start-reset-start", "reset-other_start-start"):
        visits = replace(rules.GRID, shapes=(rules.VIEWS, rules.VISITS))
        scene = _scene(three, "wrong", rules=visits, other=rules.GRID, batches=3, waiting=0)
        yield replace(scene, name=f"{three}.without_visits")
    for kind in ("crowd", "crowd_visits", "crowd_people", "crowd_pairs", "crowd_last"):
        # The next batch makes windows due in which the erased user was counted.
        yield _scene("service-erase", kind, batches=4, waiting=0)
    yield from _versions()
    yield from _amending()
    yield from _pairs()
    yield from _ended()


def _versions() -> Iterator[Scene]:
    """Services of version 0.1.0 and of this version."""
    for kind in ("grid", "totals", "unique"):
        yield from (_scene(pair, kind) for pair in ("start-old_start", "old_start-start", "service-old_start"))


def _changing(writers: str, change: str, kind: str = "", **more: object) -> Scene:
    """A scene in which settings change, over events of its own or of a `kind`."""
    first, second, own = _CHANGES[change]
    scene = _scene(writers, kind or own, rules=first, other=second, **more)
    return replace(scene, name=f"{writers}.{change}_{kind}" if kind else f"{writers}.{change}")


def _amending() -> Iterator[Scene]:
    for verb, kinds in {
        "correct": ("mixed", "visits", "people", "slides"),
        "replay": ("mixed", "people"),
        "erase": ("mixed", "visits", "people"),
        "age": ("aged",),
        "reset": ("wrong", "wrong_visits", "wrong_pairs", "wrong_people", "wrong_twice"),
        "verify": ("mixed", "visits"),
    }.items():
        for kind in kinds:
            pairs = [f"{verb}-{other}" for other in ("service", "start")]
            pairs += [f"{other}-{verb}" for other in ("service", "start")]
            for pair in [*pairs, *([f"{verb}-{verb}"] if verb != "verify" else [])]:
                yield _scene(pair, kind, batches=2 + (verb == "reset"), waiting=int(verb != "reset"))


def _pairs() -> Iterator[Scene]:
    for one, other, kind in _PAIRS:
        waiting = int(one not in ("lagging", "ahead", "behind"))
        # The fourth batch has the first late events; in `wrong` it comes after the wrong clock.
        batches = 4 if (one, other) in (("correct", "reset"), ("lagging", "correct")) else 2
        for pair in (f"{one}-{other}", f"{other}-{one}"):
            yield _scene(pair, kind, batches=batches, waiting=waiting)
    for pair in ("age-reset", "reset-age"):
        # The third batch has the wrong clock, and is published.
        yield _scene(pair, "wrong_aged", batches=3, waiting=0)


def _ended() -> Iterator[Scene]:
    """The end of the input, and three writers."""
    yield _scene("behind-start", "steps", batches=-1, waiting=0)
    for kind in ("ended", "ended_visits", "ended_twice"):
        for pair in ("reset-start", "start-reset", "start-start", "correct-reset", "reset-correct"):
            yield _scene(pair, kind, batches=2, waiting=0, ends=True)
    for three, kind in {
        "correct-erase-start": "mixed",
        "erase-correct-service": "visits",
        "replay-correct-erase": "people",
        "reset-correct-start": "wrong_visits",
        "correct-reset-service": "wrong",
        "start-age-correct": "aged",
        "verify-erase-start": "mixed",
    }.items():
        yield _scene(three, kind, batches=2 + 2 * ("reset" in three), waiting=int("reset" not in three))


SCENES: Final[Mapping[str, Scene]] = {scene.name: scene for scene in _all()}
