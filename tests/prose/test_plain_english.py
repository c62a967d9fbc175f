"""The documents have no words for which there are plainer ones."""

import re

from tests.setup.test_documents import PAGES, prose

GENERATED = {"evidence.md", "metrics.md", "tables.md"}
"""Their sentences are in the code."""
PLAIN = [page for page in PAGES if page.name not in GENERATED and not {"benchmarks", "deploy"} & {*page.parts}]
AVOIDED = re.compile(
    r"\b(told|tells?|telling|nobody|somebody|anybody|whoever|beside|lest|likewise|perhaps|anew|goes? by"
    r"|(the|its|a) begin|breach(es)?|void|upkeep|rooms?|so (many|long|often))\b"
    r"|(^|[.;:] )(Of|Those) [a-z]|, for (it|they|that|the|no)\b",
    re.MULTILINE,
)
"""Words for which there are plainer ones."""


def test_documents_are_in_plain_english() -> None:
    words = {page: re.sub(r"`[^`]*`|\]\([^)]*\)", "", prose(page)) for page in PLAIN}
    assert [(page.name, found[0]) for page in PLAIN for found in AVOIDED.finditer(words[page])] == []
