"""Robots are those of the library, whatever it costs to ask it."""

import random
import re

from crawlerdetect import CrawlerDetect
from crawlerdetect.providers.crawlers import data as crawlers
from crawlerdetect.providers.exclusions import data as exclusions

from tests.producers.access_log.test_formats import AGENT
from tidemark.producers.robots import WORDS, is_robot


def sample(expression: str) -> str:
    """A text that an expression of the library finds, or nearly so."""
    return re.sub(r"\\(.)|\[(.).*?\]|[\^$()?*+|]", lambda match: match[1] or match[2] or "", expression)


def test_an_agent_is_a_robots_where_the_library_says_so() -> None:
    library, chance = CrawlerDetect(), random.Random(1)
    words = [sample(expression) for expression in [*crawlers, *exclusions]]
    plain = [
        *chance.sample(words, 150),
        "Java x outbrain",
        "Yandex",
        "YandexSearch",
        "b0t",
        "xb0t",
        "",
        " ",
        "CUBOT X50",
    ]
    agents = [agent for word in plain for agent in (word, word.swapcase(), f"{AGENT} {word}", f"x{word}/1.0")]
    assert [agent for agent in agents if is_robot(agent) is not library.is_crawler(agent)] == []
    assert 0 < sum(map(is_robot, agents)) < len(agents)


def test_nearly_all_of_the_librarys_expressions_are_looked_for_as_words() -> None:
    assert len(WORDS) > 0.9 * len(crawlers)
    assert all(word == word.lower() and "\\/" not in word for word in WORDS)
