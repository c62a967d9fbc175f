"""The environment of a test."""

import os

import pytest


def remove_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the variables of Tidemark's settings, except the cache of jars."""
    for name in [name for name in os.environ if name.startswith("TIDEMARK_")]:
        if name != "TIDEMARK_JARS_CACHE":
            monkeypatch.delenv(name)
