"""Robots by their user agents, as the library crawlerdetect knows them, at a cost that an agent cannot choose.

The library tries 1,462 expressions at each character, one of which looks at each character again and again. Nearly all
of them are plain words, which are looked for as words.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from crawlerdetect.providers.crawlers import data as _CRAWLERS
from crawlerdetect.providers.exclusions import data as _EXCLUSIONS

_AGENTS_CACHED: Final = 8_192
_WORD: Final = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\\W)++")
"""An expression that is a plain word, with escapes."""
_ANY_BEFORE: Final = re.compile(r"^\[[^]]*+\]\*")
"""Characters of which any number, also none, may come first: whether something is found does not depend on them."""


def _any_of(expressions: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(expressions), re.IGNORECASE)


WORDS: Final = tuple(re.sub(r"\\(\W)", r"\1", word).lower() for word in _CRAWLERS if _WORD.fullmatch(word))
_EXPRESSIONS: Final = _any_of(_ANY_BEFORE.sub("", one) for one in _CRAWLERS if not _WORD.fullmatch(one))
_OF_BROWSERS: Final = _any_of(_EXCLUSIONS)
"""What browsers call themselves, which is no sign of a robot even where it has a robot's word in it."""


@lru_cache(_AGENTS_CACHED)
def is_robot(agent: str) -> bool:
    """Whether the library knows a user agent as no person's. Its callers cut `agent` off: no cost is without bound."""
    remainder = _OF_BROWSERS.sub("", agent.strip())
    plain = remainder.lower()
    return any(word in plain for word in WORDS) or _EXPRESSIONS.search(remainder) is not None
