"""Pages over a warehouse that is made once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dashboard.scene import Served, serving, story


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of the story."""
    folder = tmp_path_factory.mktemp("story")
    story(folder)
    return folder


@pytest.fixture(scope="session")
def served(told: Path) -> Iterator[Served]:
    """Its page."""
    with serving(told) as page:
        yield page
