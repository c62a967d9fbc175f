"""The random events and settings of a life."""

from dataclasses import replace
from random import Random
from typing import Final

from tests.simulation import rules
from tests.simulation.events import MINUTE, Event, Topic
from tests.simulation.rules import Rules

_GAPS: Final = (0, 0.2, 0.5, 1, 3, 8, 20)
_LATENESS: Final = (0, 0, 0, 0, 1, 2, 5, 15)
_WRONG_MIN: Final = 500
_WINDOWS: Final = (rules.VIEWS, rules.LENIENT, rules.SLIDING, rules.GROWING, rules.HOURS)
_LAGS_MS: Final = (0, 0, MINUTE, 5 * MINUTE)


def random_topic(chance: Random) -> Topic:
    """Returns events of one or two partitions, some of them late, repeated, rejected, or by a wrong clock.

    A partition may end long before the other one, so that it becomes idle.
    """
    minute, partitions = 0.0, chance.choice((1, 1, 2))
    events = list[Event]()
    for number in range(chance.randrange(12, 36)):
        minute += chance.choice(_GAPS)
        if events and chance.random() < 0.06:
            events.append(chance.choice(events))
            continue
        is_ahead = chance.random() < 0.03
        late = -_WRONG_MIN if is_ahead else chance.choice(_LATENESS)
        events.append(
            Event(
                max(minute - late, 0),
                chance.choice(("ann", "bob", "cid", "zed")),
                number + 1,
                is_malformed=chance.random() < 0.04,
                is_future=chance.random() < 0.04,
                is_ahead=is_ahead,
            )
        )
    if partitions == 1:
        return (tuple(events),)
    share = chance.choice((0.5, 0.5, 0.15))
    is_first = [chance.random() < share for _ in events]
    return tuple(
        tuple(event for event, first in zip(events, is_first, strict=True) if first is it) for it in (True, False)
    )


def random_rules(chance: Random) -> tuple[Rules, Rules]:
    """Returns two settings: they differ by a report, by totals, by deduplication, or by the strategy."""
    shapes = [*chance.sample(_WINDOWS, chance.choice((1, 1, 2))), *(rules.VISITS, rules.PAIRS)]
    shapes = [shape for number, shape in enumerate(shapes) if number == 0 or chance.random() < 0.5]
    names = [shape.name for shape in shapes]
    shapes = [shape for number, shape in enumerate(shapes) if shape.name not in names[:number]]
    # By a chance of its own, so that each seed draws what it drew without it.
    shapes += [rules.LAST] * (rules.PAIRS in shapes and Random(str(shapes)).random() < 0.5)
    one = _by_strategy(
        chance, Rules(tuple(shapes), has_totals=chance.random() < 0.3, deduplicates=chance.random() < 0.4)
    )
    fewer = replace(one, shapes=one.shapes[1:]) if len(one.shapes) > 1 else replace(one, has_totals=not one.has_totals)
    changed = (
        fewer,
        replace(one, has_totals=not one.has_totals),
        replace(one, deduplicates=not one.deduplicates),
        _by_strategy(chance, one),
    )
    other = chance.choice(changed)
    return (one, other) if chance.random() < 0.5 else (other, one)


def _by_strategy(chance: Random, one: Rules) -> Rules:
    strategy = chance.choice(("bounded", "bounded", "bounded", "punctuated", "time_lag"))
    return replace(one, strategy=strategy, lag_ms=chance.choice(_LAGS_MS), follows_clock=chance.random() < 0.3)
