"""The snippet, as far as it can be tested without a browser; `test_browser.py` has the rest."""

from tidemark.producers.collect.snippet import SNIPPET


def test_it_is_small() -> None:
    assert len(SNIPPET.encode()) < 1_600


def test_it_is_served_without_what_only_its_writers_read() -> None:
    assert SNIPPET.startswith("(() => {\n")
    assert SNIPPET.endswith("})()")
    assert all(line == line.strip() and not line.startswith("//") for line in SNIPPET.splitlines())
