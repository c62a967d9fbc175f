"""Pages over a warehouse that is made once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dashboard.scene import Served, serving, story


@pytest.fixture(scope="session")
def story_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the warehouse of `story`."""
    folder = tmp_path_factory.mktemp("story")
    story(folder)
    return folder


@pytest.fixture(scope="session")
def served(story_warehouse: Path) -> Iterator[Served]:
    """Yields the page of `story_warehouse`."""
    with serving(story_warehouse) as page:
        yield page
