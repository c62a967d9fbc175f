"""Writes docs/simulation.md: what a complete run went through."""

from collections.abc import Sequence

from tests.simulation.search import Tally


def write_page(tallies: Sequence[Tally]) -> None:
    """To be written."""
