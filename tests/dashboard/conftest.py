"""Pages over a warehouse that is made once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dashboard.scene import Served, serving, story
from tests.dashboard.visitor_scene import NOW, visitors


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


@pytest.fixture(scope="session")
def visitor_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the warehouse of `visitors`."""
    folder = tmp_path_factory.mktemp("visitors")
    visitors(folder)
    return folder


@pytest.fixture(scope="session")
def visited(visitor_warehouse: Path) -> Iterator[Served]:
    """Yields the page of `visitor_warehouse`, whose clock stands at `NOW`."""
    with serving(visitor_warehouse, clock=lambda: NOW) as page:
        yield page
