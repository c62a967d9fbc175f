"""Recognises bots by user agent, with the patterns of the library crawlerdetect, at a bounded cost.

The library tries 1,462 expressions at each character, one of which backtracks without bound. Nearly all of them are
plain words, which are searched as words.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from crawlerdetect.providers.crawlers import data as _CRAWLERS
from crawlerdetect.providers.exclusions import data as _EXCLUSIONS

_AGENTS_CACHED: Final = 8_192
_WORD: Final = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\\W)+")
"""Matches an expression that is a plain word, with escapes."""
_ANY_BEFORE: Final = re.compile(r"^\[[^]]*+\]\*")
"""Matches a prefix of an expression that may be empty: it does not change whether the expression matches."""


def _any_of(expressions: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(expressions), re.IGNORECASE)


WORDS: Final = tuple(re.sub(r"\\(\W)", r"\1", word).lower() for word in _CRAWLERS if _WORD.fullmatch(word))
_EXPRESSIONS: Final = _any_of(_ANY_BEFORE.sub("", pattern) for pattern in _CRAWLERS if not _WORD.fullmatch(pattern))
_BROWSER_NAMES: Final = _any_of(_EXCLUSIONS)
"""Names of browsers, which are removed first because some contain a bot's word."""


@lru_cache(_AGENTS_CACHED)
def is_robot(agent: str) -> bool:
    """Returns whether the user agent is a bot's. The cost grows with the length of `agent`, which callers limit."""
    remainder = _BROWSER_NAMES.sub("", agent.strip())
    plain = remainder.lower()
    return any(word in plain for word in WORDS) or _EXPRESSIONS.search(remainder) is not None
