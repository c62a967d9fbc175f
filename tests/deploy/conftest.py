"""One wheel, and one environment with it, for all tests of a run that only read it."""

from pathlib import Path

import pytest

from tests.deploy.wheel import shared_environment


@pytest.fixture(scope="session")
def wheel_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns an environment with the wheel, which is built once for all workers of a test run."""
    return shared_environment(tmp_path_factory.getbasetemp())
